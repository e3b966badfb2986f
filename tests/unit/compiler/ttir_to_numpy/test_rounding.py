"""Floats rounded in every direction, compared with exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime import rounding

WAYS = ("rn", "rd", "ru", "rz")


def nearest(exact: Fraction, dtype: Any, way: str) -> Any:
    """Return the float that `exact` rounds to."""
    near = dtype(float(exact))
    around = [np.nextafter(near, dtype(-np.inf)), near, np.nextafter(near, dtype(np.inf))]
    below = max(value for value in around if Fraction(float(value)) <= exact)
    above = min(value for value in around if Fraction(float(value)) >= exact)
    if way != "rn":
        return below if way == "rd" or (way == "rz" and exact > 0) else above
    down, up = exact - Fraction(float(below)), Fraction(float(above)) - exact
    is_even = rounding.bits_of(below) & 1 == 0
    return below if down < up or (down == up and is_even) else above


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arithmetic_is_rounded_once_in_the_direction_asked_for(dtype: Any, way: str) -> None:
    random = np.random.default_rng(7)
    for _ in range(100):
        a, b, c = (dtype(x) for x in random.standard_normal(3) * 10.0 ** random.integers(-3, 4, 3))
        x, y, z = (Fraction(float(value)) for value in (a, b, c))
        made = {
            x + y: rounding.add_directed(way, a, b),
            x * y: rounding.multiply_directed(way, a, b),
            x / y: rounding.divide_directed(way, a, b),
            x * y + z: rounding.fused_directed(way, a, b, c),
        }
        for exact, found in made.items():
            assert found == nearest(exact, dtype, way)
            assert found.dtype == dtype


def test_a_root_is_rounded_in_every_direction() -> None:
    for value in (2.0, 3.0, 0.1, 1e-30):
        a = np.float32(value)
        down, up = (rounding.root_directed(way, a) for way in ("rd", "ru"))

        assert Fraction(float(down)) ** 2 < Fraction(float(a)) < Fraction(float(up)) ** 2
        assert np.nextafter(down, np.float32(np.inf)) == up
        assert rounding.root_directed("rz", a) == down


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_fused_product_of_halves_is_rounded_once(dtype: Any) -> None:
    random = np.random.default_rng(3)
    a, b, c = (random.standard_normal(500).astype(dtype) for _ in range(3))

    found = rounding.fused(a, b, c)

    assert found.dtype == dtype
    for x, y, z, got in zip(a, b, c, found, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        beside = [np.nextafter(got, dtype(end)) for end in (-np.inf, np.inf)]
        error = abs(Fraction(float(got)) - exact)
        assert all(error <= abs(Fraction(float(other)) - exact) for other in beside)


def test_fp64_and_integers_become_bf16_in_one_step() -> None:
    above_a_tie = 1 + 2.0**-8 + 2.0**-40  # through fp32 this would be a tie and round down to 1
    long = np.int64((1 << 62) + (1 << 54) + 1)  # the same for an integer

    assert float(rounding.once(np.float64(above_a_tie), ml_dtypes.bfloat16)) == 1 + 2.0**-7
    assert float(rounding.once(long, ml_dtypes.bfloat16)) == 2.0**62 + 2.0**55
    assert np.isnan(float(rounding.once(np.float64(np.nan), ml_dtypes.bfloat16)))


def test_towards_zero_never_overflows() -> None:
    values = np.float32([70000.0, -70000.0, np.inf, 1.0009, -1.0009])

    found = rounding.towards_zero(values, np.float16)

    assert list(found[:3]) == [65504.0, -65504.0, np.inf]
    assert list(found[3:]) == [1.0, -1.0]
