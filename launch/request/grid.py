"""Grids: one to three integers or small expressions over scalars, constexprs and NUM_SMS.

All values are integers, as in the grid of a Triton launch.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from compiler.constexpr import pointer_below
from compiler.rejection import FieldError, RequestRejected, did_you_mean, listed, shown
from launch.expression import Expression, read_expression
from launch.formula import Bounds, FormulaFailed

LIMITS = (2**31 - 1, 65_535, 65_535)  # CUDA's, of x, y and z
NUM_SMS = "NUM_SMS"
MAX_CHARS = 256

GRID_SCHEMA: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "maxItems": len(LIMITS),
    "items": {
        "anyOf": [
            {"title": "Extent", "type": "integer", "minimum": 1, "maximum": max(LIMITS)},
            {"title": "GridExpression", "type": "string", "minLength": 1, "maxLength": MAX_CHARS},
        ]
    },
}
"""JSON form of a grid in a request: integers and expressions."""

_BOUNDS = Bounds(
    max_chars=MAX_CHARS,
    max_nodes=64,
    characters=re.compile(r"[\w\s+\-*/%(),.]*", re.ASCII),
    grammar="a dimension is an integer or an expression of integers, names, + - * // %, "
    "parentheses, cdiv(a, b), min(a, b), max(a, b) and next_power_of_2(a)",
)


_EXAMPLE = '[8] or ["cdiv(n_elements, BLOCK_SIZE)"]'
_NODES = (ast.Name, ast.Load, ast.UnaryOp, ast.BinOp, ast.Call)
_OPERATORS = (ast.UAdd, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


@dataclass(frozen=True, slots=True)
class Grid:
    """One to three parsed dimensions; `at` is their pointer in the request."""

    dimensions: tuple[int | Expression, ...]
    source: tuple[int | str, ...]
    at: str

    @property
    def names(self) -> frozenset[str]:
        """The names that the expressions use."""
        read = (dimension for dimension in self.dimensions if isinstance(dimension, Expression))
        return frozenset().union(*(expression.names for expression in read))

    @property
    def integers(self) -> frozenset[int]:
        """The integer literals in its text."""
        written: set[int] = set()
        for dimension in self.dimensions:
            if isinstance(dimension, Expression):
                written |= {value for value in dimension.constants if isinstance(value, int)}
            else:
                written.add(dimension)
        return frozenset(written)

    def evaluate(self, values: Mapping[str, Any]) -> list[int]:
        """Return x, y and z. `values`: Python values of scalars, constexprs and NUM_SMS by name.

        Raises RequestRejected for an unknown name and for a dimension outside CUDA's limits.
        """
        errors: list[FieldError] = []
        grid = [1, 1, 1]
        integers = _Integers(values)
        for axis, dimension in enumerate(self.dimensions):
            try:
                extent: Any = dimension
                where = ""
                if isinstance(dimension, Expression):
                    extent = dimension.value(integers)
                    used = sorted(dimension.names & values.keys())
                    where = ", ".join(f"{name} = {shown(values[name])}" for name in used)
                grid[axis] = _bounded(int(extent), axis, f" where {where}" if where else "")
            except FormulaFailed as failed:
                message = f"{shown(self.source[axis])}: {failed}"
                errors.append(FieldError(pointer_below(self.at, axis), message))
        if errors:
            raise RequestRejected(*errors)
        return grid


class _Integers(Mapping[str, int]):
    """The values that a grid may name; a lookup rejects those that are not integers."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> int:
        if name not in self._values:
            known = listed(sorted(self._values))
            message = f"there is no value named {shown(name)}.{did_you_mean(name, self._values)}"
            raise FormulaFailed(f"{message} The known names are {known}")
        value = self._values[name]
        if not isinstance(value, int):
            raise FormulaFailed(f"{name} is {_described(value)}not an integer")
        return int(value)

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _described(value: Any) -> str:
    if isinstance(value, str):
        return f"the string {shown(value)}, "
    return f"{shown(value)}, " if isinstance(value, float) else ""


def parse_grid(raw: Any, at: str = "/grid") -> Grid:
    """Parse the grid at pointer `at`.

    Raises RequestRejected with every invalid dimension.
    """
    if not isinstance(raw, list) or not 1 <= len(raw) <= len(LIMITS):
        message = f"must be a list of one to three, such as {_EXAMPLE}; {_BOUNDS.grammar}"
        raise RequestRejected(FieldError(at, message))
    errors: list[FieldError] = []
    dimensions = []
    for axis, item in enumerate(raw):
        try:
            dimensions.append(_dimension(item, axis))
        except FormulaFailed as failed:
            errors.append(FieldError(pointer_below(at, axis), f"{shown(item)}: {failed}"))
    if errors:
        raise RequestRejected(*errors)
    return Grid(tuple(dimensions), tuple(raw), at)


def _dimension(item: Any, axis: int) -> int | Expression:
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise FormulaFailed(_BOUNDS.grammar)
    if isinstance(item, int):
        return _bounded(item, axis)
    return _expression(item)


@lru_cache(maxsize=64)  # cases of a launch often have the same grid, as launches of a kernel do
def _expression(text: str) -> Expression:
    return read_expression(text, _BOUNDS, refusal=_refusal)


def _refusal(node: ast.AST) -> str | None:
    """Return the reason why grids do not allow `node`; None: they do."""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        belongs = isinstance(node.op, _OPERATORS)
    elif isinstance(node, ast.Constant):
        belongs = type(node.value) is int
    else:
        belongs = isinstance(node, (*_NODES, *_OPERATORS))
    if belongs:
        return None
    text = shown(ast.unparse(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{text} may not be an integer; use // or cdiv(a, b)"
    return f"{text} does not belong in a grid; {_BOUNDS.grammar}"


def _bounded(extent: int, axis: int, where: str = "") -> int:
    if not 1 <= extent <= LIMITS[axis]:
        shown_extent = extent if extent.bit_length() <= 64 else "an integer beyond 64 bits"
        must = f"dimension {'xyz'[axis]} must be from 1 to {LIMITS[axis]}"
        raise FormulaFailed(f"is {shown_extent}{where}; {must}")
    return extent
