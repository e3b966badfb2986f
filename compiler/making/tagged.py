"""Constexpr values between canonical JSON and Python: integers, floats by bits, dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton._utils import canonicalize_dtype

from compiler.making import toolchain


def decode(value: Any, function: Callable[[str], Any]) -> Any:
    """Return the Python value of tagged JSON; `function` finds a function of the source by name.

    Raises `ValueError` for a tag that is not known.
    """
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, list):
        return tuple(decode(item, function) for item in value)
    ((tag, content),) = value.items()
    match tag:
        case "int":
            return int(content)
        case "float":
            return float.fromhex(content) if isinstance(content, str) else float(content)
        case "tuple":
            return tuple(decode(item, function) for item in content)
        case "dtype":
            return tl.str_to_ty(canonicalize_dtype(content), None)
        case "function":
            return function(content)
    message = f"a constexpr cannot be tagged {tag!r}"
    raise ValueError(message)


def encode(value: Any) -> Any:
    """Return the tagged JSON of a Python value; what JSON cannot say becomes `{"object": repr}`."""
    value = getattr(value, "value", value) if isinstance(value, tl.constexpr) else value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"int": str(int(value))}
    if isinstance(value, float):
        return {"float": value.hex() if math.isfinite(value) else str(value)}
    if isinstance(value, (tuple, list)):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, tl.dtype):
        return {"dtype": canonicalize_dtype(str(value))}
    if isinstance(value, toolchain.JITFunction):
        return {"function": value.__name__}
    return {"object": repr(value)[:200]}
