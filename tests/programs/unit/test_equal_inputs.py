"""Inputs that are equal in both calls, judged by the ops that make them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

import pytest

from programs.tape.inputs_tape import makes_equal_inputs
from programs.tape.read_tape import read_tape
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit

Made = Callable[[TapeMaker, int], int]
"""Makes the input of a call, 0 or 1."""


def are_the_same(made: Made) -> bool:
    maker = TapeMaker()
    maker.phase = "inputs"
    first, second = (made(maker, call) for call in (0, 1))
    maker.phase = "run"
    return makes_equal_inputs(maker.tape([first], [first], [second], [second]))


def zeros(maker: TapeMaker, call: int) -> int:
    return maker.op("zeros.default", {"list": [64]})


def plus_one(maker: TapeMaker, call: int) -> int:
    return maker.op("add.Scalar", t(zeros(maker, call)), 1.0)


def plus_the_call(maker: TapeMaker, call: int) -> int:
    return maker.op("add.Scalar", t(zeros(maker, call)), float(call))


def changed_by_the_call(maker: TapeMaker, call: int) -> int:
    x = zeros(maker, call)
    return maker.op("add_.Scalar", t(x), float(call), into=x)


def part_of_one(maker: TapeMaker, call: int) -> int:
    return maker.part(zeros(maker, call), 0, 32)


def other_parts(maker: TapeMaker, call: int) -> int:
    return maker.part(zeros(maker, call), 32 * call, 32)


def drawn(maker: TapeMaker, call: int) -> int:
    return maker.op("randn.default", {"list": [64]})


def drawn_in_place(maker: TapeMaker, call: int) -> int:
    x = zeros(maker, call)
    return maker.op("normal_.default", t(x), into=x)


def drawn_with_chances(maker: TapeMaker, call: int) -> int:
    return maker.op("bernoulli.p", t(zeros(maker, call)), 0.5)


def drawn_from_one_seed(maker: TapeMaker, call: int) -> int:
    seeded(maker, 7)
    return drawn(maker, call)


def drawn_from_a_seed_each(maker: TapeMaker, call: int) -> int:
    seeded(maker, call)
    return drawn(maker, call)


def drawn_behind_other_numbers(maker: TapeMaker, call: int) -> int:
    seeded(maker, 7)
    for _ in range(call):
        drawn(maker, call)
    return drawn(maker, call)


def drawn_from_one_seed_of_cuda(maker: TapeMaker, call: int) -> int:
    seeded(maker, 7, device="cuda")
    return drawn(maker, call)


def drawn_behind_a_seed_of_the_cpu(maker: TapeMaker, call: int) -> int:
    seeded(maker, 7, device="cpu")
    return drawn(maker, call)


def seeded(maker: TapeMaker, seed: int, **more: str) -> None:
    maker.ops.append({"op": "seed", "seed": seed, "phase": maker.phase, **more})


@pytest.mark.parametrize(
    "made", [zeros, plus_one, part_of_one, drawn_from_one_seed, drawn_from_one_seed_of_cuda]
)
def test_inputs_that_are_made_alike_are_the_same(made: Made) -> None:
    assert are_the_same(made)


@pytest.mark.parametrize(
    "made",
    [
        plus_the_call,
        changed_by_the_call,
        other_parts,
        drawn,
        drawn_in_place,
        drawn_with_chances,
        drawn_from_a_seed_each,
        drawn_behind_other_numbers,
        drawn_behind_a_seed_of_the_cpu,
    ],
)
def test_inputs_that_are_made_otherwise_may_be_others(made: Made) -> None:
    assert not are_the_same(made)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [("aa", "aa", True), ("ab", "ab", True), ("aa", "bb", False), ("ab", "ba", False)],
)
def test_arrays_of_python_s_are_the_same_where_their_numbers_are(
    first: str, second: str, *, same: bool
) -> None:
    maker = TapeMaker()
    made = [maker.tensor(2) for _ in range(4)]
    tape = maker.json(made[:2], made[:1], made[2:], made[2:3])
    tape["constants"] = {
        str(id_): base64.b64encode(letter.encode() * 8).decode()
        for id_, letter in zip(made, first + second, strict=True)
    }
    assert makes_equal_inputs(read_tape(json.dumps(tape).encode())) is same


def test_plain_numbers_beside_tensors_are_looked_at() -> None:
    maker = TapeMaker()
    made = maker.tensor(2)
    tape = maker.json([made], [made], [made], [made])
    tape["constants"] = {str(made): base64.b64encode(bytes(8)).decode()}
    for member, number in (("inputs", 1), ("inputs2", 1.0)):
        tape[member].append(number)

    assert not makes_equal_inputs(read_tape(json.dumps(tape).encode()))


def test_a_program_that_is_given_nothing_is_not_given_the_same() -> None:
    maker = TapeMaker()
    made = maker.op("zeros.default", {"list": [64]})

    assert not makes_equal_inputs(maker.tape([], [made]))
