"""Names of a source with certain values by its text; constants in it, as tagged JSON.

Triton decides from the objects that a parameter's annotation and default are. The text shows them
only where a name is bound once, where all can see it; of all else this reports nothing. Nothing is
evaluated.
"""

import ast
import math
from collections import Counter
from functools import lru_cache
from typing import Any

from compiler.reading.jit_decorator import Aliases

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


def constant_json(node: ast.expr | None, aliases: Aliases) -> dict[str, Any] | None:
    """Return `{"literal": tagged}`, else `{"expression": text}`; `None` for nothing.

    `"constexpr": True` comes with the value of `tl.constexpr(value)`.
    """
    if node is None:
        return None
    try:
        literal = {"literal": tagged(node, aliases)}
    except ValueError:
        return {"expression": ast.unparse(node)}
    wrapped = isinstance(node, ast.Call) and aliases.dotted(node.func) in CONSTEXPR
    return literal | {"constexpr": True} if wrapped else literal


def is_plain(node: ast.expr) -> bool:
    """Return whether a value is written without any name, so that it depends on none."""
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
    return ValueError(f"{ast.unparse(node)} is not a literal")


_REACHES_ANY_NAME = frozenset(
    {"globals", "locals", "vars", "exec", "eval", "setattr", "delattr", "__dict__", "modules",
     "__builtins__", "builtins", "__annotations__", "__defaults__", "__kwdefaults__"}
)  # fmt: skip
_BUILTINS = frozenset({"int", "float", "bool"})
_MAX_STEPS = 8


def imported_as(node: ast.expr, aliases: Aliases) -> str | None:
    """Return what `node` surely is: `triton.language.int32`, `int`, ...; None where code decides.

    Follows imports and `C = tl.constexpr`.
    """
    return _imported_as(node, aliases, 0)


def is_certain(name: str, aliases: Aliases) -> bool:
    """Return whether `name` is bound by one statement at the top level of the source."""
    known = _bindings(aliases.tree)
    return known is not None and known.count[name] == 1


def _imported_as(node: ast.expr, aliases: Aliases, steps: int) -> str | None:
    if isinstance(node, ast.Attribute):
        owner = _imported_as(node.value, aliases, steps)
        return f"{owner}.{node.attr}" if owner and owner not in _BUILTINS else None
    if not isinstance(node, ast.Name) or steps == _MAX_STEPS:
        return None
    known = _bindings(aliases.tree)
    if known is None or known.count[node.id] > 1:
        return None
    if node.id in known.imported:
        return aliases.dotted(node)
    if node.id in known.assigned:
        return _imported_as(known.assigned[node.id], aliases, steps + 1)
    return node.id if node.id in _BUILTINS and not known.count[node.id] else None


class _Bindings:
    """The number of bindings of each name anywhere, and at the top level."""

    def __init__(self, tree: ast.Module) -> None:
        self.count = Counter(name for node in ast.walk(tree) for name in _bound(node))
        self.imported = {
            name
            for node in tree.body
            if isinstance(node, ast.Import)
            or (
                isinstance(node, ast.ImportFrom)
                and not node.level
                and (node.module or "").partition(".")[0] == "triton"
            )
            for name in _bound(node)
        }
        self.assigned = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        }


@lru_cache(maxsize=1)
def _bindings(tree: ast.Module) -> _Bindings | None:
    """Return how names are bound, None where a part that cannot be read may bind any name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            hidden = node.id in _REACHES_ANY_NAME
        elif isinstance(node, ast.Attribute):
            hidden = node.attr in _REACHES_ANY_NAME or not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.alias):
            hidden = node.name == "*" or node.name.rpartition(".")[2] in _REACHES_ANY_NAME
        else:
            continue
        if hidden:
            return None
    return _Bindings(tree)


def _bound(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.arg(arg=name) | ast.MatchStar(name=str(name)) | ast.MatchAs(name=str(name)):
            return [name]
        case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
    return []
