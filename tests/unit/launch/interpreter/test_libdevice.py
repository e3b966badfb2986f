"""libdevice's symbols are the functions of their names."""

import math

import numpy as np
import pytest

from launch.interpreter.libdevice import function_of


@pytest.mark.parametrize(
    ("symbol", "operands", "expected"),
    [
        ("__nv_tanhf", [0.5], math.tanh(0.5)),
        ("__nv_tanh", [0.5], math.tanh(0.5)),
        ("__nv_powf", [2.0, 3.0], 8),
        ("__nv_erff", [0.5], math.erf(0.5)),
        ("__nv_erf", [0.5], math.erf(0.5)),
        ("__nv_normcdff", [0.0], 0.5),
        ("__nv_tgammaf", [-1.0], math.nan),
        ("__nv_lgammaf", [0.0], math.inf),
        ("__nv_roundf", [-2.5], -3),
        ("__nv_rintf", [2.5], 2),
        ("__nv_remainderf", [5.0, 3.0], -1),
        ("__nv_fmodf", [-5.0, 3.0], -2),
        ("__nv_rsqrtf", [4.0], 0.5),
        ("__nv_fast_expf", [1.0], math.e),
        ("__nv_saturatef", [1.5], 1),
        ("__nv_logbf", [10.0], 3),
    ],
)
def test_a_function_of_floats(symbol, operands, expected):
    function = function_of(symbol)
    assert function is not None
    found = function(*(np.array([operand], np.float32) for operand in operands))
    assert found[0] == pytest.approx(expected, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize(
    ("symbol", "number", "expected"),
    [
        ("__nv_popc", -1, 32),
        ("__nv_clz", 1, 31),
        ("__nv_clz", -1, 0),
        ("__nv_ffs", 8, 4),
        ("__nv_ffs", 0, 0),
        ("__nv_int_as_float", 0x3F800000, 1.0),
    ],
)
def test_a_function_of_bits(symbol, number, expected):
    function = function_of(symbol)
    assert function is not None
    assert function(np.array([number], np.int32))[0] == expected


def test_a_sum_of_products_is_rounded_once():
    function = function_of("__nv_fmaf")
    assert function is not None
    x = np.array([1 + 2**-12], np.float32)
    assert function(x, x, np.array([-1], np.float32))[0] == (1 + 2**-12) ** 2 - 1


def test_a_function_that_numpy_lacks_is_none():
    assert function_of("__nv_erfinvf") is None
