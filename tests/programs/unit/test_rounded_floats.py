"""Floats that a program rounds on their way, by the types of tensors."""

from __future__ import annotations

import pytest

from programs.tape.flags import flags_of
from programs.tape.schema import Tape
from tests.programs.unit.tape_maker import READS_A_WRITES_OUT, TapeMaker, t

pytestmark = pytest.mark.unit


def reference() -> Tape:
    maker = TapeMaker()
    given = maker.tensor()
    return maker.tape([given], [maker.op("neg.default", t(given))])


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_halves_in_memory_of_floats_are_rounded(dtype: str) -> None:
    maker = TapeMaker()
    given, floats = maker.tensor(), maker.empty()
    halves = maker.tensor(of=floats)
    maker.tensors[halves][0] = dtype
    maker.op("view.dtype", t(floats), {"dtype": dtype}, into=halves)
    maker.op("copy_.default", t(halves), t(given), into=halves)
    out = maker.op("_to_copy.default", t(halves), dtype={"dtype": "fp32"})
    result = maker.empty()
    maker.launch(out, result)
    flags = flags_of(maker.tape([given], [result]), READS_A_WRITES_OUT, reference())

    assert ("precision_downgrade", 13) in [(flag.kind, flag.line) for flag in flags]
