"""Races between ops on several streams, from true and forged tapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from programs.tape.inputs_tape import inputs_only, inputs_text
from programs.tape.invalid_tape import InvalidTape
from programs.tape.read_tape import read_tape
from programs.tape.stream_order import unordered
from programs.tape.stream_warnings import stream_warnings
from programs.tape.tape_bounds import MAX_STREAMS
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit


def plus_one(maker: TapeMaker, of: int, stream: int, after: list[int] | None = None) -> int:
    maker.order = {"stream": stream, "after": after or []}
    return maker.op("add.Scalar", t(of), 1.0)


def pairs(maker: TapeMaker, inputs: list[int], outputs: list[int]) -> set[tuple[int, int | None]]:
    found = unordered(maker.tape(inputs, outputs))
    return {(one.first, one.second) for one in found.values()}


@pytest.mark.parametrize(
    ("after", "ends", "expected"),
    [
        ([], [0, 1], {(0, 1)}),
        ([0], [1], set()),
        ([0], [0], {(1, None)}),
        ([], [], {(0, 1), (1, None)}),
    ],
    ids=["no wait", "a wait", "no wait of the caller's", "none at all"],
)
def test_an_op_waits_for_those_that_the_tape_names(
    after: list[int], ends: list[int], expected: set[Any]
) -> None:
    maker = TapeMaker()
    x = maker.tensor()
    z = plus_one(maker, plus_one(maker, x, 1), 0, after)
    maker.ends = {"run": ends}

    assert pairs(maker, [x], [z]) == expected


def test_what_one_stream_knows_another_does_not() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    y = plus_one(maker, x, 1)
    plus_one(maker, x, 2, [0])
    plus_one(maker, y, 3)
    maker.ends = {"run": [0, 1, 2]}

    assert pairs(maker, [x], [y]) == {(0, 2)}


def test_ops_before_a_call_are_over_when_it_begins() -> None:
    maker = TapeMaker()
    maker.phase = "inputs"
    x = plus_one(maker, maker.op("zeros.default", {"list": [64]}), 1)
    maker.phase = "run"
    y = plus_one(maker, x, 0)
    maker.ends = {"run": [2]}

    assert {one for one in pairs(maker, [x], [y]) if one[1] == 2} == set()


def test_a_launch_counts_by_what_its_kernel_reads_and_writes() -> None:
    maker = TapeMaker()
    x, out, other = maker.tensor(), maker.empty(), maker.empty()
    maker.order = {"stream": 1, "after": [0, 1]}
    maker.launch(x, out)
    maker.order = {"stream": 2, "after": [0, 1]}
    maker.launch(x, other)
    maker.ends = {"run": [2, 3]}
    tape = maker.tape([x], [out, other])

    assert unordered(tape).keys() == {tape.tensors[x].storage}
    assert unordered(tape, READS_A_WRITES_OUT) == {}


def test_a_gpu_says_which_lines_it_hides_the_race_of() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    z = plus_one(maker, plus_one(maker, x, 1), 0)
    maker.ends = {"run": [0, 1]}
    tape = maker.tape([x], [z])

    streams, race = stream_warnings(tape, {}, on_gpu=True)

    assert "record_stream" in streams
    assert race.startswith("user.py:11 in stream 1 and user.py:12 in the default stream may use")
    assert stream_warnings(tape, {}, on_gpu=False) == [streams]


def test_a_program_of_one_stream_is_warned_of_nothing() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    tape = maker.tape([x], [maker.op("add.Scalar", t(x), 1.0)])
    assert stream_warnings(tape, {}, on_gpu=True) == []


@pytest.mark.parametrize(
    ("order", "wrong"),
    [
        ({"stream": MAX_STREAMS}, "stream"),
        ({"stream": -1}, "stream"),
        ({"stream": True}, "stream"),
        ({"after": [1]}, "op 1 is not before it"),
        ({"after": [2**70]}, "after"),
        ({"after": "0"}, "after"),
        ({"after": [0] * (MAX_STREAMS + 1)}, "after"),
    ],
)
def test_a_forged_order_is_refused(order: dict[str, Any], wrong: str) -> None:
    maker = TapeMaker()
    x = maker.tensor()
    maker.op("add.Scalar", t(x), 1.0)
    maker.order = order
    made = maker.op("add.Scalar", t(x), 1.0)
    with pytest.raises(InvalidTape, match=wrong):
        maker.tape([x], [made])


@pytest.mark.parametrize(
    "ends", [{"run": [9]}, {"walk": [0]}, {"run": 0}, {"run": [0] * (MAX_STREAMS + 1)}, []]
)
def test_forged_ends_are_refused(ends: Any) -> None:
    maker = TapeMaker()
    x = maker.tensor()
    made = maker.op("add.Scalar", t(x), 1.0)
    tape = maker.json([x], [made], [], []) | {"ends": ends}
    with pytest.raises(InvalidTape, match="ends"):
        read_tape(json.dumps(tape).encode())


def test_a_seed_is_nothing_to_wait_for() -> None:
    maker = TapeMaker()
    x = maker.tensor()
    maker.ops.append({"op": "seed", "seed": 1, "phase": "run"})
    maker.order = {"after": [0]}
    made = maker.op("add.Scalar", t(x), 1.0)
    with pytest.raises(InvalidTape, match="a seed"):
        maker.tape([x], [made])


def test_inputs_are_cut_out_without_the_order_of_other_ops() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    w = plus_one(maker, maker.op("zeros.default", {"list": [64]}), 1)
    maker.phase = "inputs"
    x = plus_one(maker, maker.op("zeros.default", {"list": [64]}), 2, [1])
    maker.phase = "run"
    maker.order = {"stream": 0, "after": [3]}
    y = maker.op("add.Tensor", t(x), t(w))
    maker.ends = {"run": [4]}
    text = json.dumps(maker.json([x], [y], [], [])).encode()

    cut = read_tape(inputs_text(read_tape(text), text))

    assert [(op.stream, op.after) for op in inputs_only(cut).ops] == [(0, ()), (0, ())]  # type: ignore[union-attr]
