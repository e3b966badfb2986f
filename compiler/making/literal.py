"""Values written in source, as tagged JSON, without evaluating anything."""

from __future__ import annotations

import ast
import math
from typing import Any

from compiler.making.jit import Aliases

CONSTEXPR = frozenset({"triton.language.constexpr", "triton.language.core.constexpr"})
_DTYPES = {
    "int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint16": "u16", "uint32": "u32", "uint64": "u64", "float8e5": "fp8e5", "float8e4nv": "fp8e4nv",
    "float8e4b15": "fp8e4b15", "float8e4b8": "fp8e4b8", "float8e5b16": "fp8e5b16",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
}  # fmt: skip


def tagged(node: ast.expr, aliases: Aliases) -> Any:
    """Return the tagged JSON of a literal, dtype or `tl.constexpr(literal)`.

    Raises `ValueError` for all else.
    """
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return _constant(-value)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return {"tuple": [tagged(item, aliases) for item in items]}
        case ast.Call(func=function, args=[value], keywords=[]):
            return _call(aliases.dotted(function), value, aliases)
    name = aliases.dotted(node)
    if name is not None and name.startswith("triton.language."):
        dtype = _DTYPES.get(name.rsplit(".", 1)[1])
        if dtype is not None:
            return {"dtype": dtype}
    raise _no_literal(node)


def described(node: ast.expr | None, aliases: Aliases) -> dict[str, Any] | None:
    """Return `{"literal": tagged}`, else `{"expression": text}`; `None` for nothing.

    `"constexpr": True` stands beside the value of `tl.constexpr(value)`.
    """
    if node is None:
        return None
    try:
        found = {"literal": tagged(node, aliases)}
    except ValueError:
        return {"expression": ast.unparse(node)}
    wrapped = isinstance(node, ast.Call) and aliases.dotted(node.func) in CONSTEXPR
    return found | {"constexpr": True} if wrapped else found


def is_plain(node: ast.expr) -> bool:
    """Return whether a value is written without any name: what it is cannot depend on any."""
    return not any(isinstance(part, (ast.Name, ast.Attribute)) for part in ast.walk(node))


def _constant(value: object) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"int": str(value)}
    if isinstance(value, float):
        return {"float": value.hex() if math.isfinite(value) else str(value)}
    raise ValueError(repr(value))


def _call(name: str | None, argument: ast.expr, aliases: Aliases) -> Any:
    if name in CONSTEXPR:
        return tagged(argument, aliases)
    if name == "float" and isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return _constant(float(argument.value))
    raise _no_literal(argument)


def _no_literal(node: ast.expr) -> ValueError:
    return ValueError(f"{ast.unparse(node)} is no literal")
