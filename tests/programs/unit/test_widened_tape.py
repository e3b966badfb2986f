"""The calls of a tape in fp64, and the ops that gave parameters their values."""

from __future__ import annotations

import pytest

from programs.tape.schema import AtenOp, DtypeName
from programs.tape.varied_tape import START, NotWidened, ParameterOrigin, origins_of, widened
from tests.programs.unit.tape_maker import TapeMaker, t

pytestmark = pytest.mark.unit


def converting() -> tuple[TapeMaker, int, int]:
    maker = TapeMaker()
    given = maker.tensor()
    halves = maker.tensor(of=None)
    maker.tensors[halves][0] = "fp16"
    maker.storages[halves] = 2 * 64
    maker.op("_to_copy.default", t(given), into=halves, dtype={"dtype": "fp16"})
    return maker, given, halves


def test_tensors_storages_and_dtypes_of_calls_become_fp64() -> None:
    maker, given, halves = converting()
    wide = widened(maker.tape([given], [halves]))

    assert [meta.dtype for meta in wide.tensors] == ["fp64", "fp64"]
    assert wide.storages == (8 * 64, 8 * 64)
    [op] = wide.ops
    assert isinstance(op, AtenOp)
    assert op.kwargs == {"dtype": DtypeName("fp64")}


def test_what_is_made_before_the_calls_keeps_its_dtype() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    drawn = maker.op("randn.default", {"list": [64]})
    maker.phase = "run"
    given = maker.tensor()
    result = maker.op("neg.default", t(given))
    wide = widened(maker.tape([given], [result]))

    assert wide.tensors[drawn].dtype == "fp32"
    assert wide.tensors[result].dtype == "fp64"


def test_calls_that_launch_kernels_are_refused() -> None:
    maker = TapeMaker()
    given, out = maker.tensor(), maker.empty()
    maker.launch(given, out)
    with pytest.raises(NotWidened, match="kernels"):
        widened(maker.tape([given], [out]))


def test_memory_that_is_read_as_two_dtypes_is_refused() -> None:
    maker = TapeMaker()
    given = maker.tensor()
    bits = maker.tensor(of=given)
    maker.tensors[bits][0] = "i32"
    maker.op("view.dtype", t(given), {"dtype": "i32"}, into=bits)
    with pytest.raises(NotWidened, match="both fp32 and i32"):
        widened(maker.tape([given], [bits]))


def test_a_parameter_has_its_values_from_the_op_behind_its_copies() -> None:
    maker = TapeMaker()
    maker.phase = "init"
    ones = maker.empty()
    maker.op("fill_.Scalar", t(ones), 1.0, into=ones)
    maker.op("mul.Tensor", t(ones), t(ones))
    moved = maker.op("_to_copy.default", t(ones))
    tape = maker.tape([], [moved])

    assert origins_of(tape, {"weight": moved}) == {"weight": ParameterOrigin(1, ones)}


def test_a_parameter_that_no_op_makes_has_its_values_from_the_start() -> None:
    maker = TapeMaker()
    given = maker.tensor()
    moved = maker.op("clone.default", t(given))

    assert origins_of(maker.tape([given], [moved]), {"w": given}) == {
        "w": ParameterOrigin(START, given)
    }
