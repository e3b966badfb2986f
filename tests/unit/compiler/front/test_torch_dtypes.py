"""Limits of torch's dtypes, which constants of kernels use."""

from __future__ import annotations

import pytest

from compiler.front.stubs import torch_stub

NAMED = torch_stub.named()


@pytest.mark.parametrize(
    ("name", "largest", "epsilon"),
    [
        ("float16", 65504.0, 2.0**-10),
        ("bfloat16", 3.3895313892515355e38, 2.0**-7),
        ("float8_e4m3fn", 448.0, 2.0**-3),
        ("float8_e5m2", 57344.0, 2.0**-2),
        ("float8_e4m3fnuz", 240.0, 2.0**-3),
    ],
)
def test_a_float_has_its_limits(name: str, largest: float, epsilon: float) -> None:
    limits = torch_stub.finfo(NAMED[name])

    assert (limits.max, limits.min, limits.eps) == (largest, -largest, epsilon)


def test_an_integer_has_its_limits() -> None:
    assert torch_stub.iinfo(NAMED["int8"]) == torch_stub.IntegerLimits(8, 127, -128, "int8")
    assert torch_stub.iinfo(NAMED["uint16"]).max == 65535


def test_both_names_of_a_dtype_are_one_object() -> None:
    assert NAMED["half"] is NAMED["float16"]
    assert repr(NAMED["half"]) == "torch.float16"


def test_limits_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(TypeError, match=r"floating-point dtype, not torch\.int8"):
        torch_stub.finfo(NAMED["int8"])
