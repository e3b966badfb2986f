"""Lifetimes of a tape's storages, and their peak memory."""

from __future__ import annotations

import pytest

from programs.replay.storage_lifetimes import START, lifetimes
from programs.tape.schema import (
    AtenOp,
    InvalidTape,
    Op,
    Phase,
    Tape,
    TapeLaunch,
    TensorMeta,
    TensorRef,
    TupleOf,
)

KIB = 1 << 10


def op(output: int, *inputs: int, phase: Phase = "run") -> AtenOp:
    arguments = tuple(TensorRef(one) for one in inputs)
    return AtenOp("aten.add.Tensor", arguments, {}, (output,), phase, None)


def launch(*tensors: int) -> TapeLaunch:
    args = {f"x{one}": TensorRef(one) for one in tensors}
    return TapeLaunch("k0", (1, 1, 1), args, {}, {}, (), (), (), "run", None)


def tape(
    ops: list[Op],
    outputs: tuple[int, ...] = (),
    outputs2: tuple[int, ...] = (),
    storages: tuple[int, ...] | None = None,
    inputs: tuple[int, ...] = (),
) -> Tape:
    """Return a tape of 1 KiB tensors, each in its own storage unless `storages` differs."""
    lies = storages or tuple(range(8))
    meta = [TensorMeta("fp32", "cuda", (256,), (1,), 0, one) for one in lies]
    given = tuple(TensorRef(one) for one in inputs)
    results = [TupleOf(tuple(TensorRef(one) for one in every)) for every in (outputs, outputs2)]
    sizes = (KIB,) * (max(lies) + 1)
    return Tape(
        "2.13.0", tuple(meta), sizes, {}, {}, 0, (), given, (), (), *results, tuple(ops)
    )  # fmt: skip


def test_what_no_op_needs_any_more_is_freed() -> None:
    found = lifetimes(tape([op(0), op(1, 0), op(2, 1), op(3, 2)], outputs=(3,)))

    assert found.freed_after == {1: [0], 2: [1], 3: [2, 3]}
    assert (found.peak_bytes, found.peak_at) == (2 * KIB, 1)


def test_a_view_keeps_its_storage() -> None:
    found = lifetimes(tape([op(0), op(1, 0), op(2), op(3, 1)], storages=(0, 0, 1, 2)))

    assert found.freed_after[3] == [0, 2]


def test_a_launch_needs_what_it_is_given() -> None:
    found = lifetimes(tape([op(0), op(1), launch(0, 1)], outputs=(1,)))

    assert found.freed_after[2] == [0, 1]


def test_an_output_of_the_first_call_is_kept_up_to_its_end() -> None:
    ops: list[Op] = [op(0), op(1), op(2), op(3, phase="run2"), op(4, phase="run2")]

    found = lifetimes(tape(ops, outputs=(0,), outputs2=(3,)))

    assert found.ends["run"] == 3
    assert 0 in found.freed_after[2]
    assert 3 in found.freed_after[4]


def test_what_is_given_is_there_from_the_start() -> None:
    found = lifetimes(tape([op(1), op(2, 0)], outputs=(2,), inputs=(0, 3)))

    assert found.freed_after[START] == [3]
    assert (found.peak_bytes, found.peak_at) == (2 * KIB, START)


def test_a_program_without_ops_returns_what_it_was_given() -> None:
    found = lifetimes(tape([], outputs=(0,), inputs=(0,)))

    assert START not in found.freed_after
    assert (found.peak_bytes, found.peak_at) == (KIB, START)


def test_phases_out_of_order_are_refused() -> None:
    with pytest.raises(InvalidTape, match="/ops/1/phase: inputs comes after run"):
        lifetimes(tape([op(0), op(1, phase="inputs")]))
