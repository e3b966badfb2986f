"""Default tolerances lie between a dtype's rounding and that of the next lower precision."""

import pytest

from compiler.type_name import SCALARS
from launch.request.element import ITEM_BYTES, is_floating
from launch.request.tolerance import EXACT, default_tolerance

EPSILON = {
    "fp64": 2**-52,
    "fp32": 2**-23,
    "fp16": 2**-10,
    "bf16": 2**-7,
    "fp8e4nv": 2**-3,
    "fp8e4b8": 2**-3,
    "fp8e4b15": 2**-3,
    "fp8e5": 2**-2,
    "fp8e5b16": 2**-2,
}
NEXT_LOWER = {"fp64": "fp32", "fp32": "fp16", "fp16": "fp8e4nv", "bf16": "fp8e4nv"}


@pytest.mark.parametrize("dtype", EPSILON)
def test_neighbouring_numbers_match(dtype: str):
    assert default_tolerance(dtype).rtol >= EPSILON[dtype]


@pytest.mark.parametrize("dtype", NEXT_LOWER)
def test_rounding_to_the_next_lower_precision_does_not(dtype: str):
    assert default_tolerance(dtype).rtol < EPSILON[NEXT_LOWER[dtype]] / 2


@pytest.mark.parametrize("dtype", sorted(name for name in ITEM_BYTES if not is_floating(name)))
def test_integers_are_exact(dtype: str):
    assert default_tolerance(dtype) == EXACT


def test_every_dtype_has_one():
    assert all(default_tolerance(dtype).atol >= 0 for dtype in SCALARS)
