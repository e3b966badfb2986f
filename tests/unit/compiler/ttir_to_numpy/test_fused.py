"""`a * b + c` with one rounding equals exact fractions; two roundings often do not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime import rounding

NARROW = (np.float16, ml_dtypes.bfloat16, np.float32)


def rounded(exact: Fraction, dtype: Any) -> float:
    """Return the nearest float of a type, ties to even, by integer arithmetic on its grid."""
    limits = ml_dtypes.finfo(dtype)
    if exact == 0:
        return 0.0
    exponent = max(math.frexp(float(abs(exact)))[1] - 1, limits.minexp)
    exponent += 1 if abs(exact) >= Fraction(2) ** (exponent + 1) else 0
    grid = Fraction(2) ** (exponent - limits.nmant)
    whole, rest = divmod(exact, grid)
    whole += rest * 2 > grid or (rest * 2 == grid and whole % 2 == 1)
    found = whole * grid
    return math.copysign(math.inf, exact) if abs(found) > float(limits.max) else float(found)


def check(a: Any, b: Any, c: Any, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        found = rounding.fused(a, b, c)
    assert found.dtype == dtype
    for x, y, z, got in zip(a, b, c, found, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        assert float(got) == rounded(exact, dtype), (x, y, z)


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.__name__)
def test_any_bits_are_rounded_once(dtype: Any) -> None:
    random = np.random.default_rng(5)
    kind = np.dtype(f"u{np.dtype(dtype).itemsize}")
    words = random.integers(0, np.iinfo(kind).max, (3, 6000), dtype=kind, endpoint=True)
    values = words.view(dtype)
    check(*values[:, np.isfinite(values.astype(np.float64)).all(0)], dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.__name__)
def test_sums_near_the_middle_of_two_floats_are_rounded_once(dtype: Any) -> None:
    random = np.random.default_rng(6)
    bits = ml_dtypes.finfo(dtype).nmant + 1
    whole = 2 ** (bits - 1) + random.integers(0, 2 ** (bits - 1), (2, 3000))
    exponents = random.integers(-bits - 2, bits + 3, 3000)
    a, b = (whole * 2.0 ** -(bits - 1)).astype(dtype)
    c = (random.choice([-1, 1], 3000) * 2.0**exponents).astype(dtype)
    check(a, b, c, dtype)


@pytest.mark.parametrize("dtype", NARROW, ids=lambda dtype: dtype.__name__)
def test_a_tie_that_a_small_rest_decides(dtype: Any) -> None:
    bits = ml_dtypes.finfo(dtype).nmant + 1
    half = 2.0**-bits  # in units of the distance between 1 and its successor
    tiny = float(ml_dtypes.finfo(dtype).tiny)
    a = np.array([half, half, half, -half], dtype)
    b = np.array([1 + 2 * half, 1 - half, 1, 1 - half], dtype)
    check(a, b, np.ones(4, dtype), dtype)
    check(np.array([tiny, -tiny], dtype), np.array([tiny, tiny], dtype), np.ones(2, dtype), dtype)


def test_a_scalar_is_rounded_as_an_array_is_and_stays_one() -> None:
    half = np.float32(2.0**-24)
    # a tie, and a little above
    for a, wanted in ((half, 1.0), (half * np.float32(1.5), 1 + 2.0**-23)):
        found = rounding.fused(a, np.float32(1), np.float32(1))
        assert np.shape(found) == ()
        assert found == np.float32(wanted)


def test_products_beyond_the_range_come_back() -> None:
    big = np.array([3e38], ml_dtypes.bfloat16)
    check(big, np.array([1.5], big.dtype), -big, ml_dtypes.bfloat16)


def test_infinities_and_nan_are_those_of_two_roundings() -> None:
    a = np.float32([np.inf, np.inf, np.nan, 0.0, 1.0])
    b = np.float32([1.0, 0.0, 1.0, 1.0, -1.0])
    c = np.float32([-np.inf, 1.0, 1.0, -0.0, 1.0])
    with np.errstate(invalid="ignore"):
        found, wanted = rounding.fused(a, b, c), a * b + c
    np.testing.assert_array_equal(found, wanted)
    assert not np.signbit(found[3:]).any()
