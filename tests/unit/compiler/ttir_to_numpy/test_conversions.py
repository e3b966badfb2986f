"""Conversions between number types follow PTX."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime import conversions, number_ops

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("source", "wanted", "values", "found"),
    [
        (np.float32, np.int32, [NAN, 3e9, -3e9, -1.9], [0, 2**31 - 1, -(2**31), -1]),
        (np.float32, np.uint32, [NAN, 5e9, -3, 3e9], [0, 2**32 - 1, 0, 3_000_000_000]),
        (np.float32, np.int64, [NAN, INF, -INF], [-(2**63), 2**63 - 1, -(2**63)]),
        (np.float32, np.uint64, [NAN, INF, -1], [2**63, 2**64 - 1, 0]),
        (np.float64, np.int32, [NAN, 1e300], [-(2**31), 2**31 - 1]),
        (np.float64, np.int16, [NAN, 40000], [-(2**15), 2**15 - 1]),
        # PTX converts to 16 bits at least; the lower half is the result.
        (np.float32, np.int8, [NAN, 127.9, 300, -300, 1e6], [0, 127, 44, -44, -1]),
        (np.float32, np.uint8, [NAN, 255.9, 300, -3, 1e6], [0, 255, 44, 0, 255]),
        (np.float16, np.int64, [NAN, 3.5], [-(2**63), 3]),
    ],
)
def test_floats_become_integers(source: Any, wanted: Any, values: Any, found: Any) -> None:
    made = conversions.to_integer(np.array(values, source), wanted)

    assert made.dtype == wanted
    assert list(made) == found


def test_fp8_holds_its_largest() -> None:
    values = np.float32([1e9, -INF, NAN, 0.3])

    small = conversions.to_float(values, ml_dtypes.float8_e4m3fn).astype(np.float32)
    wide = conversions.to_float(values, ml_dtypes.float8_e5m2).astype(np.float32)

    np.testing.assert_array_equal(small, np.float32([448, -448, NAN, 0.3125]))
    np.testing.assert_array_equal(wide, np.float32([57344, -57344, NAN, 0.3125]))


def test_fp8e4b15_has_no_infinity() -> None:
    values = np.float16([0, 1, -0.3, 1.9, INF, NAN, -INF])

    kept = conversions.to_e4b15(values)

    assert kept.dtype == np.int8
    back = conversions.from_e4b15(kept)
    np.testing.assert_array_equal(back, np.float16([0, 1, -0.3125, 1.75, 1.75, 1.75, -1.75]))
    every = np.arange(127, dtype=np.int8)  # except the largest, which no conversion gives
    np.testing.assert_array_equal(conversions.to_e4b15(conversions.from_e4b15(every)), every)


def test_integers_divide_towards_zero_and_by_zero() -> None:
    a = np.int32([7, -7, 7, -7, -(2**31), 5, 0])
    b = np.int32([2, 2, -2, -2, -1, 0, 0])

    assert list(number_ops.divide(a, b)) == [3, -3, -3, 3, -(2**31), -1, -1]
    assert list(number_ops.remainder(a, b)) == [1, -1, 1, -1, 0, -1, -1]
    assert list(number_ops.above(a[:4], b[:4])) == [4, -3, -3, 4]
    assert list(number_ops.below(a[:4], b[:4])) == [3, -4, -4, 3]
    unsigned = number_ops.divide(np.uint32([7, 2**32 - 1]), np.uint32([0, 2]))
    assert list(unsigned) == [2**32 - 1, 2**31 - 1]


def test_of_64_bits_a_quotient_by_zero_is_as_wide_as_the_dividend() -> None:
    a, zero = np.int64([5, -5, 2**32, 2**32 - 1]), np.zeros(4, np.int64)

    for function in (number_ops.divide, number_ops.remainder):
        assert list(function(a, zero)) == [2**32 - 1, -1, -1, 2**32 - 1]


def test_only_the_exponent_of_fp8e5_becomes_that_of_bf16() -> None:
    values = np.uint8([0x7C, 0xFC, 0x7E, 0x7F, 0x3C, 0x01]).view(ml_dtypes.float8_e5m2)

    found = conversions.e5_to_bf16(values).astype(np.float64)

    assert list(found) == [65536, -65536, 98304, 114688, 1, 2.0**-16]


def test_a_remainder_of_floats_is_computed_as_on_a_gpu() -> None:
    a, b = np.float32([7.5, -7.5, 1e9, 1, INF, 3]), np.float32([2, 2, 3, INF, 2, 0])

    found = number_ops.float_remainder(a, b)

    # fp32 rounds 1e9 / 3 up, so the remainder is negative.
    np.testing.assert_array_equal(found, np.float32([1.5, -1.5, -32, 1, NAN, NAN]))


def test_rounding_halves_away_from_zero() -> None:
    values = np.float32([0.5, -0.5, 2.5, 0.49999997, -2.4, 8388609.0, INF])

    found = number_ops.rounded(values)

    np.testing.assert_array_equal(found, np.float32([1, -1, 3, 0, -2, 8388609.0, INF]))
    assert found.dtype == np.float32


def test_subnormals_become_zeros_of_their_sign() -> None:
    values = np.float32([1e-40, -1e-40, 1e-30])

    found = number_ops.without_denormals(values)

    assert list(found) == [0, 0, np.float32(1e-30)]
    assert list(np.signbit(found)) == [False, True, False]
    assert list(number_ops.is_normal(values)) == [False, False, True]
    assert list(number_ops.is_normal(values.astype(ml_dtypes.bfloat16))) == [False, False, True]
    assert list(number_ops.is_normal(np.float16([6e-5, 6.2e-5]))) == [False, True]
