"""The least precise step that each output of a tape depends on."""

from __future__ import annotations

from typing import Any

import pytest

from programs.tape.kernel_effects import KernelEffects
from programs.tape.schema import Tape
from programs.worker.output_tolerances import roundings
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "i64": 8, "fp64": 8}


class TypedTapeMaker(TapeMaker):
    """Vectors of any type."""

    def typed(self, dtype: str) -> int:
        """Return a new tensor of a type."""
        made = self.tensor()
        self.tensors[made][0] = dtype
        self.storages[-1] = 64 * BYTES[dtype]
        return made

    def make(self, name: str, to: str, *args: Any, **named: Any) -> int:
        """Call an overload that makes floats of a type."""
        return self.op(name, *args, into=self.typed(to), **named)

    def cast(self, of: int, dtype: str) -> int:
        return self.make("_to_copy.default", dtype, t(of), dtype={"dtype": dtype})


def steps(tape: Tape, effects: Any = None) -> dict[str, tuple[str, int]]:
    """Return type and line of the least precise step of each output."""
    found = roundings(tape, effects or {})
    return {path: (one.dtype, one.place.line) for path, one in found.items() if one.place}


def test_an_output_follows_from_a_product_of_halves() -> None:
    maker = TypedTapeMaker()
    x = maker.typed("fp32")
    half = maker.cast(x, "fp16")
    product = maker.make("mul.Tensor", "fp16", t(half), t(half))
    wide = maker.cast(product, "fp32")
    other = maker.make("mul.Tensor", "fp32", t(x), t(x))

    assert steps(maker.tape([x], [wide, other])) == {"0": ("fp16", 11), "1": ("fp32", 14)}


def test_halves_that_are_given_are_the_same_for_both_programs() -> None:
    maker = TypedTapeMaker()
    x = maker.typed("fp16")
    turned = maker.make("clone.default", "fp16", t(x))
    wide = maker.cast(turned, "fp32")
    out = maker.make("mul.Tensor", "fp32", t(wide), t(wide))

    assert steps(maker.tape([x], [out])) == {"0": ("fp32", 13)}


def test_what_was_made_before_the_call_is_no_step_of_it() -> None:
    maker = TypedTapeMaker()
    maker.phase = "init"
    weight = maker.make("ones.default", "fp32", {"list": [64]}, device={"device": "cuda"})
    half = maker.cast(weight, "fp16")
    product = maker.make("mul.Tensor", "fp16", t(half), t(half))
    maker.params = [["weight", t(product)]]
    maker.phase = "run"
    x = maker.typed("fp32")
    wide = maker.cast(product, "fp32")
    out = maker.make("mul.Tensor", "fp32", t(x), t(wide))
    maker.params = []

    assert [dtype for dtype, _ in steps(maker.tape([x], [out])).values()] == ["fp32"]


def test_the_least_precise_of_several_steps_counts() -> None:
    maker = TypedTapeMaker()
    x = maker.typed("fp32")
    half = maker.cast(maker.cast(x, "bf16"), "fp16")
    out = maker.cast(maker.make("mul.Tensor", "fp16", t(half), t(half)), "fp32")

    assert steps(maker.tape([x], [out])) == {"0": ("bf16", 11)}


def test_integers_carry_nothing_on() -> None:
    maker = TypedTapeMaker()
    x = maker.typed("fp32")
    half = maker.cast(x, "fp16")
    index = maker.op("argmax.default", t(half), 0, True, into=maker.typed("i64"))
    maker.tensors[index][2], maker.storages[-1] = [1], 8
    out = maker.op("gather.default", t(x), 0, t(index))
    maker.tensors[out][2], maker.storages[-1] = [1], 4

    assert steps(maker.tape([x], [out])) == {}


def test_memory_that_is_written_in_part_keeps_what_it_follows_from() -> None:
    maker = TypedTapeMaker()
    x = maker.typed("fp32")
    out = maker.cast(maker.cast(x, "fp16"), "fp32")
    part = maker.part(out, 0, 8)
    maker.op("fill_.Scalar", t(part), 0.0, into=part)
    whole = maker.cast(maker.cast(x, "fp16"), "fp32")
    maker.op("fill_.Scalar", t(whole), 0.0, into=whole)

    assert steps(maker.tape([x], [out, whole])) == {"0": ("fp16", 11)}


def test_kernels_round_to_what_they_are_known_to_write() -> None:
    maker = TypedTapeMaker()
    x, half = maker.typed("fp32"), maker.cast(maker.typed("fp32"), "fp16")
    maker.launch(x, half)
    out = maker.cast(half, "fp32")
    tape = maker.tape([x, 1], [out])

    assert steps(tape, READS_A_WRITES_OUT) == {"0": ("fp16", 11)}
    nothing = {"k0": KernelEffects(frozenset({"a", "out"}), frozenset())}
    assert steps(tape, nothing) == {"0": ("fp16", 11)}


def test_a_kernel_of_which_nothing_is_known_widens_nothing() -> None:
    maker = TypedTapeMaker()
    x, half = maker.typed("fp16"), maker.typed("fp16")
    maker.launch(x, half)
    out = maker.cast(half, "fp32")

    assert steps(maker.tape([x, half], [out])) == {}
    assert steps(maker.tape([x, half], [out]), READS_A_WRITES_OUT)["0"][0] == "fp16"


def test_both_calls_count_and_what_is_left_in_inputs() -> None:
    maker = TypedTapeMaker()
    x, y = maker.typed("fp32"), maker.typed("fp32")
    maker.op("add_.Tensor", t(x), t(x), into=x)
    maker.phase = "run2"
    half = maker.cast(y, "fp16")
    maker.op("copy_.default", t(y), t(half), into=y)
    tape = maker.tape([x], [x], [y], [y])

    assert {path: dtype for path, (dtype, _) in steps(tape).items()} == {
        "0": "fp16", "inputs[0]": "fp16"
    }  # fmt: skip
