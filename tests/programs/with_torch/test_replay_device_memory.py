"""A GPU replay's view of its memory, tested with the same ops on the CPU."""

from __future__ import annotations

import json

import pytest
import torch

from programs.replay.live_tensors import LiveTensors
from programs.replay.written_storages import PoisonedStorages
from programs.tape.read_tape import read_tape
from programs.tape.schema import Tape
from tests.programs.unit.tape_maker import TapeMaker

CPU = torch.device("cpu")


def a_tape(dtype: str, shape: list[int], strides: list[int], offset: int, octets: int) -> Tape:
    maker = TapeMaker()
    maker.storages.append(octets)
    maker.tensors.append([dtype, "cuda", shape, strides, offset, 0])
    made = maker.json([], [], [], []) | {"outputs": {"tuple": []}}
    return read_tape(json.dumps(made).encode())


@pytest.mark.parametrize("with_numbers", [False, True])
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("fp32", 4),
        ("fp16", 2),
        ("i8", 1),
        ("i1", 1),
        ("i64", 8),
        ("fp8e4nv", 1),
        ("complex128", 16),
    ],
)
def test_unwritten_elements_hold_the_poison(
    dtype: str, size: int, other: bool, with_numbers: bool
) -> None:
    tape = a_tape(dtype, [3, 2], [4, 1], 1, 12 * size)
    tensors = LiveTensors(tape, CPU)
    tensors.make(0)
    written = PoisonedStorages(tape, tensors, other=other)

    written.poison(0, with_numbers=with_numbers)
    tensors.octets(0)[5 * size : 6 * size] = 0x11

    found = written.unwritten(0)
    assert found is not None
    assert found.tolist() == [True, True, False, True, True, True]


def test_what_was_written_wholly_is_not_looked_at() -> None:
    tape = a_tape("fp32", [64], [1], 0, 256)
    tensors = LiveTensors(tape, CPU)
    tensors.make(0)
    written = PoisonedStorages(tape, tensors)

    written.poison(0)
    written.write(0)

    assert written.unwritten(0) is None


def test_memory_that_was_not_poisoned_counts_as_written() -> None:
    tape = a_tape("fp32", [64], [1], 0, 256)
    tensors = LiveTensors(tape, CPU)
    tensors.make(0).fill_(float("nan"))

    assert PoisonedStorages(tape, tensors).unwritten(0) is None


def test_memory_is_overwritten_before_it_is_freed() -> None:
    tape = a_tape("fp32", [64], [1], 0, 256)
    tensors = LiveTensors(tape, CPU)
    made = tensors.make(0).fill_(1.0)

    PoisonedStorages(tape, tensors).free([0])

    assert made.isnan().all()
