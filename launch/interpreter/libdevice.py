"""The functions of CUDA's libdevice in NumPy, by their symbols, as far as NumPy has them.

Triton itself chooses the symbol from the arguments' types, and refuses types that have none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from launch.buffers.element_types import Array

_PREFIX = "__nv_"
_LN10, _LN2 = math.log(10), math.log(2)


def _each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return np.vectorize(function, otypes=[np.float64])


def _leading_zeros(x: Array) -> Array:
    bits = 8 * x.itemsize
    return bits - np.array([int(n).bit_length() for n in _unsigned(x).flat]).reshape(x.shape)


def _first_set(x: Array) -> Array:
    return np.array([(int(n) & -int(n)).bit_length() for n in x.flat]).reshape(x.shape)


def _ones(x: Array) -> Array:
    return np.array([int(n).bit_count() for n in _unsigned(x).flat]).reshape(x.shape)


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.itemsize}")


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except (ValueError, OverflowError):
        return math.nan if x < 0 else math.inf


def _log_gamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


def _rounded_away(x: Array) -> Array:
    rounded: Array = np.copysign(np.floor(np.abs(x) + 0.5), x)
    return rounded


_FUNCTIONS: dict[str, Callable[..., Array]] = {
    **{name: getattr(np, name) for name in (
        "cos", "sin", "tan", "cosh", "sinh", "tanh", "exp", "exp2", "expm1", "log", "log2",
        "log10", "log1p", "sqrt", "floor", "ceil", "trunc", "rint", "copysign", "nextafter",
        "fmod", "hypot", "cbrt", "ldexp", "signbit", "isnan",
    )},
    "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "atan2": np.arctan2,
    "acosh": np.arccosh, "asinh": np.arcsinh, "atanh": np.arctanh,
    "abs": np.abs, "fabs": np.abs, "llabs": np.abs, "fmax": np.fmax, "fmin": np.fmin,
    "pow": np.power, "powi": np.power, "exp10": lambda x: np.exp(x * _LN10),
    "rsqrt": lambda x: 1 / np.sqrt(x), "rcbrt": lambda x: 1 / np.cbrt(x),
    "rhypot": lambda x, y: 1 / np.hypot(x, y), "fdim": lambda x, y: np.maximum(x - y, 0),
    "erf": _each(math.erf), "erfc": _each(math.erfc), "tgamma": _each(_gamma),
    "lgamma": _each(_log_gamma), "normcdf": lambda x: _each(math.erfc)(-x / math.sqrt(2)) / 2,
    "sinpi": lambda x: np.sin(np.pi * x), "cospi": lambda x: np.cos(np.pi * x),
    "isinf": np.isinf, "isinfd": np.isinf, "isnand": np.isnan, "finite": np.isfinite,
    "isfinited": np.isfinite, "signbitd": np.signbit, "nearbyint": np.rint, "round": _rounded_away,
    "remainder": lambda x, y: x - np.rint(x / y) * y, "saturate": lambda x: np.clip(x, 0, 1),
    "scalbn": np.ldexp, "logb": lambda x: np.frexp(x)[1] - 1.0,
    "ilogb": lambda x: np.frexp(x)[1] - 1,
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "fma": lambda x, y, z: x.astype(np.float64) * y + z,
    "add_rn": np.add, "sub_rn": np.subtract, "mul_rn": np.multiply, "div_rn": np.divide,
    "fadd_rn": np.add, "fsub_rn": np.subtract, "fmul_rn": np.multiply, "fdiv_rn": np.divide,
    "dadd_rn": np.add, "dsub_rn": np.subtract, "dmul_rn": np.multiply, "ddiv_rn": np.divide,
    "sqrt_rn": np.sqrt, "fsqrt_rn": np.sqrt, "dsqrt_rn": np.sqrt, "rcp_rn": lambda x: 1 / x,
    "frcp_rn": lambda x: 1 / x, "drcp_rn": lambda x: 1 / x, "frsqrt_rn": lambda x: 1 / np.sqrt(x),
    "fmaf_rn": lambda x, y, z: x.astype(np.float64) * y + z,
    "fast_exp": np.exp, "fast_exp10": lambda x: np.exp(x * _LN10), "fast_log": np.log,
    "fast_log2": np.log2, "fast_log10": np.log10, "fast_sin": np.sin, "fast_cos": np.cos,
    "fast_tan": np.tan, "fast_pow": np.power, "fast_fdivide": np.divide, "fast_tanh": np.tanh,
    "popc": _ones, "popcll": _ones,
    "clz": _leading_zeros, "clzll": _leading_zeros, "ffs": _first_set, "ffsll": _first_set,
    "float_as_int": lambda x: x.view(np.int32), "float_as_uint": lambda x: x.view(np.uint32),
    "int_as_float": lambda x: x.view(np.float32), "uint_as_float": lambda x: x.view(np.float32),
    "double_as_longlong": lambda x: x.view(np.int64),
    "longlong_as_double": lambda x: x.view(np.float64),
}  # fmt: skip


def function_of(symbol: str) -> Callable[..., Array] | None:
    """Return the NumPy function for a symbol such as `__nv_tanhf`, `None` if there is none."""
    name = symbol.removeprefix(_PREFIX)
    return _FUNCTIONS.get(name) or _FUNCTIONS.get(name.removesuffix("f"))


def call(function: Callable[..., Array], operands: list[Any], kind: np.dtype[Any]) -> Array:
    """Return what a function gives for handles, as elements of `kind`."""
    with np.errstate(all="ignore"):
        return np.asarray(function(*(operand.data for operand in operands))).astype(kind)
