"""Scalars: a JSON number or boolean, or an object that adds a dtype to one."""

import math
from typing import Any

from compiler.constexpr import Value, canonical_value, pointer_below
from compiler.rejection import FieldError, RequestRejected, shown
from compiler.type_name import UnknownType, canonical_dtype
from launch.request.argument_schema import ScalarArgument
from launch.request.bound_arguments import Scalar
from launch.request.element import BOOLEANS, Number, is_floating, read_element
from launch.request.request_part import read

_I32 = range(-(2**31), 2**31)
_I64 = range(-(2**63), 2**63)


def is_scalar(raw: Any) -> bool:
    """Return True if a JSON value is a scalar argument; null is not."""
    if isinstance(raw, dict):
        return "value" in raw or raw.keys() == {"int"} or raw.keys() == {"float"}
    return isinstance(raw, bool | int | float)


def bind_scalar(raw: Any, at: str) -> Scalar:
    """Return the scalar argument at `at`.

    Raises RequestRejected for a value that does not fit its dtype, or 64 bits.
    """
    if not isinstance(raw, dict) or "value" not in raw:
        value = canonical_value(raw, at)
        return Scalar(value=value, dtype=dtype_of(value))
    argument = read(ScalarArgument, raw, at)
    inner_at = pointer_below(at, "value")
    if argument.dtype is None:
        if not is_scalar(argument.value):
            message = (
                f"{shown(argument.value)} is not a number; give its `dtype` to write it as a string"
            )
            raise RequestRejected(FieldError(inner_at, message))
        return bind_scalar(argument.value, inner_at)
    try:
        dtype = canonical_dtype(argument.dtype)
    except UnknownType as error:
        raise RequestRejected(FieldError(pointer_below(at, "dtype"), str(error))) from None
    number = read_element(argument.value, dtype, inner_at)
    return Scalar(value=tagged(number, dtype), dtype=dtype, dtype_given=True)


def dtype_of(value: Value) -> str:
    """Return the dtype that Triton gives a Python number, from its tagged value."""
    if isinstance(value, bool):
        return "u1"
    if "float" in value:
        return "fp32"
    number = int(value["int"])
    if number in _I32:
        return "i32"
    return "i64" if number in _I64 else "u64"


def tagged(number: Number, dtype: str) -> Value:
    """Return an element of `dtype` as a tagged value."""
    if dtype in BOOLEANS:
        return bool(number)
    if not is_floating(dtype):
        return {"int": str(number)}
    finite = math.isfinite(number)
    return {"float": float(number).hex() if finite else repr(float(number))}


def integer(scalar: Scalar) -> int | None:
    """Return the value of an integer scalar, None for others."""
    value = scalar.value
    return int(value["int"]) if isinstance(value, dict) and "int" in value else None
