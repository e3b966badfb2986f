"""Minimum and maximum of floats as PTX orders them: -0 below +0, NaN as requested.

The oracle compares one pair at a time, by sign and magnitude.
"""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.runtime import number_ops

FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 6e-8, -6e-8, math.inf, -math.inf, math.nan)
IS_LARGER = {"maxnum": True, "maximum": True, "minnum": False, "minimum": False}


def wanted(function: str, a: float, b: float) -> float:
    """Return the results of `max`, `max.NaN`, `min` and `min.NaN` by the PTX manual."""
    if math.isnan(a) or math.isnan(b):
        other = b if math.isnan(a) else a
        return other if function.endswith("num") else math.nan
    ordered = sorted([a, b], key=lambda value: (value, math.copysign(1, value)))
    return ordered[-1 if IS_LARGER[function] else 0]


def is_same(a: Any, b: float) -> bool:
    return math.isnan(b) if math.isnan(a) else (a, math.copysign(1, a)) == (b, math.copysign(1, b))


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("function", IS_LARGER)
def test_every_pair_is_ordered_as_in_ptx(function: str, dtype: type) -> None:
    extreme = getattr(number_ops, function)
    column, row = np.array(NUMBERS, dtype)[:, None], np.array(NUMBERS, dtype)[None]

    found = extreme(column, row)

    assert found.dtype == dtype
    for i, a in enumerate(column[:, 0].astype(float)):
        for j, b in enumerate(row[0].astype(float)):
            assert is_same(float(found[i, j]), wanted(function, a, b)), (a, b)


@pytest.mark.parametrize("function", IS_LARGER)
def test_a_plain_number_takes_the_type_of_the_other(function: str) -> None:
    found = getattr(number_ops, function)(np.array([-0.0, 0.0], np.float16), 0.0)

    assert found.dtype == np.float16
    assert np.signbit(found).tolist() == [not IS_LARGER[function], False]


def test_a_scalar_stays_one() -> None:
    assert np.shape(number_ops.maxnum(np.float32(-0.0), np.float32(0.0))) == ()
