"""Grids: one to three integers or small expressions over scalars, constexprs and NUM_SMS.

Integers are all that there is: a grid is what a launch of Triton's may be given.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.constexpr import pointer_below
from compiler.rejection import Fault, RequestRejected, did_you_mean, shown
from launch.formula import Bounds, FormulaFailed, cdiv, next_power_of_2, parsed


def names_in(node: ast.expr) -> frozenset[str]:
    """Return the names that a formula uses, having looked at every node of it.

    Raises FormulaFailed for anything that does not belong in a formula.
    """
    return frozenset(_names(node))


def evaluated(node: ast.expr, values: Mapping[str, Any]) -> int:
    """Return the value of a formula that `names_in` accepted.

    Raises FormulaFailed for an unknown name, one that is no integer, and a division by zero.
    """
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return _named(name, values)
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](evaluated(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            return _divided(_BINARY[type(op)], evaluated(left, values), evaluated(right, values))
        case ast.Call(func=function, args=arguments):
            call = _FUNCTIONS[_callee(function)][0]
            return _divided(call, *(evaluated(argument, values) for argument in arguments))
    raise FormulaFailed("not a formula")


def _names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=value) if type(value) is int:
            return
        case ast.Name(id=name):
            yield name
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            yield from _names(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            yield from _names(left)
            yield from _names(right)
        case ast.Call(func=function, args=arguments, keywords=[]):
            _check_call(_callee(function), len(arguments))
            for argument in arguments:
                yield from _names(argument)
        case _:
            raise FormulaFailed(_refusal(node))


def _refusal(node: ast.expr) -> str:
    text = shown(ast.unparse(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{text} divides to a fraction; write // or cdiv(a, b)"
    return f"{text} does not belong in a grid: only + - * // % and {', '.join(_FUNCTIONS)} do"


def _check_call(name: str, count: int) -> None:
    _, least, most = _FUNCTIONS[name]
    if not least <= count <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise FormulaFailed(f"{name} takes {expected} arguments, not {count}")


def _callee(function: ast.expr) -> str:
    text = ast.unparse(function).removeprefix("triton.").removeprefix("tl.")
    if text not in _FUNCTIONS:
        message = f"there is no function {shown(text)}.{did_you_mean(text, _FUNCTIONS)}"
        raise FormulaFailed(f"{message} There are {', '.join(_FUNCTIONS)}")
    return text


def _named(name: str, values: Mapping[str, Any]) -> int:
    if name not in values:
        known = ", ".join(sorted(values)) or "none"
        message = f"there is no value named {shown(name)}.{did_you_mean(name, values)}"
        raise FormulaFailed(f"{message} Known are {known}")
    value = values[name]
    if not isinstance(value, int):
        raise FormulaFailed(f"{name} is no integer")
    return int(value)


def _divided(operation: Callable[..., int], *operands: int) -> int:
    try:
        return operation(*operands)
    except ZeroDivisionError:
        raise FormulaFailed("divides by zero") from None


_UNARY: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, tuple[Callable[..., int], int, int]] = {
    "cdiv": (cdiv, 2, 2),
    "min": (min, 2, 8),
    "max": (max, 2, 8),
    "next_power_of_2": (next_power_of_2, 1, 1),
}


LIMITS = (2**31 - 1, 65_535, 65_535)  # CUDA's, of x, y and z
NUM_SMS = "NUM_SMS"
MAX_CHARS = 256

GRID_SCHEMA: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": len(LIMITS),
    "items": {
        "anyOf": [
            {"type": "integer", "minimum": 1, "maximum": max(LIMITS)},
            {"type": "string", "minLength": 1, "maxLength": MAX_CHARS},
        ]
    },
}
"""Of how a request writes a grid: integers and expressions."""

_BOUNDS = Bounds(
    max_chars=MAX_CHARS,
    max_nodes=64,
    characters=re.compile(r"[\w\s+\-*/%(),.]*", re.ASCII),
    grammar="a dimension is an integer or an expression of integers, names, + - * // %, "
    "parentheses, cdiv(a, b), min(a, b), max(a, b) and next_power_of_2(a)",
)


@dataclass(frozen=True, slots=True)
class Grid:
    """One to three dimensions, parsed; `at` is where the request says them."""

    dimensions: tuple[ast.expr, ...] = field(compare=False, repr=False)
    source: tuple[int | str, ...]
    at: str

    @property
    def names(self) -> frozenset[str]:
        """The names that the expressions use."""
        return frozenset(name for dimension in self.dimensions for name in names_in(dimension))

    def evaluate(self, values: Mapping[str, Any]) -> list[int]:
        """Return x, y and z. `values`: Python values of scalars, constexprs and NUM_SMS by name.

        Raises RequestRejected for an unknown name and for a dimension outside of CUDA's limits.
        """
        faults: list[Fault] = []
        grid = [1, 1, 1]
        for axis, dimension in enumerate(self.dimensions):
            try:
                grid[axis] = _bounded(evaluated(dimension, values), axis)
            except FormulaFailed as failed:
                message = f"{shown(self.source[axis])}: {failed}"
                faults.append(Fault(pointer_below(self.at, axis), message))
        if faults:
            raise RequestRejected(*faults)
        return grid


def parse_grid(raw: Any, at: str = "/grid") -> Grid:
    """Read the grid written at pointer `at`.

    Raises RequestRejected for every dimension that is none.
    """
    if not isinstance(raw, list) or not 1 <= len(raw) <= len(LIMITS):
        raise RequestRejected(Fault(at, f"must be a list of one to three; {_BOUNDS.grammar}"))
    faults = list(_faults(raw, at))
    if faults:
        raise RequestRejected(*faults)
    return Grid(tuple(parsed(str(item), _BOUNDS) for item in raw), tuple(raw), at)


def _faults(raw: Sequence[Any], at: str) -> Iterator[Fault]:
    for axis, item in enumerate(raw):
        try:
            _check(item, axis)
        except FormulaFailed as failed:
            yield Fault(pointer_below(at, axis), f"{shown(item)}: {failed}")


def _check(item: Any, axis: int) -> None:
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise FormulaFailed(_BOUNDS.grammar)
    if isinstance(item, int):
        _bounded(item, axis)
    else:
        names_in(parsed(item, _BOUNDS))


def _bounded(extent: int, axis: int) -> int:
    if not 1 <= extent <= LIMITS[axis]:
        shown_extent = extent if extent.bit_length() <= 64 else "an integer beyond 64 bits"
        message = f"is {shown_extent}; dimension {'xyz'[axis]} goes from 1 to {LIMITS[axis]}"
        raise FormulaFailed(message)
    return extent
