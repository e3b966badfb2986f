"""Guesses the grid that a kernel is launched with: the extents that cover what its masks bound.

`pid * BLOCK + tl.arange(0, BLOCK) < n` takes `cdiv(n, BLOCK)` programs, and `row < n_rows` takes
`n_rows`. Numbers that are made of one axis by `//` and `%` take the product of theirs.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from compiler.reading.proposals.parsed_function import MAX_DEPTH, ParsedFunction, argument

_AXES = 3
_MAX_CHARS = 200
_KEEPS = frozenset({"max_contiguous", "multiple_of", "max_constancy", "cast", "expand_dims"})
_DERIVES = (ast.FloorDiv, ast.Mod)


@dataclass(frozen=True)
class _Index:
    """An index that depends on an axis of the grid.

    `part` tells apart what is derived from one axis, "" for the axis itself. `block` is what each
    program is multiplied by.
    """

    axis: int
    part: str = ""
    block: str = ""


def launch_grid(function: ParsedFunction) -> list[str]:
    """Return an expression for each axis that a kernel uses, "" where nothing bounds it."""
    indices = _Indices(function)
    axes = {index.axis for call in function.calls if (index := indices.of(call))}
    extents: dict[int, dict[str, str]] = {axis: {} for axis in range(max(axes, default=-1) + 1)}
    for tested, bound, wraps in _bounds(function):
        index = indices.of(tested)
        if index is None or not _is_of_parameters(bound, function):
            continue
        if wraps and not index.block:
            continue
        if index.block and not _is_known(index.block, function):
            continue
        size = ast.unparse(bound)
        extent = f"cdiv({size}, {index.block})" if index.block else size
        extents[index.axis].setdefault(index.part, extent)
    grid = [parts.get("") or " * ".join(parts.values()) for parts in extents.values()]
    return [extent if len(extent) <= _MAX_CHARS else "" for extent in grid]


def _bounds(function: ParsedFunction) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield pairs of expressions, of which the second may bound the first or wrap it around."""
    for node in function.nodes:
        match node:
            case ast.Compare(
                left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]
            ):
                yield left, right, False
                yield right, left, False
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                yield left, right, True


def _is_of_parameters(bound: ast.expr, function: ParsedFunction) -> bool:
    """Return whether a bound is an integer parameter, or a product of some."""
    match bound:
        case ast.Name(id=name):
            values = function.values.get(name, [])
            return name in function.parameters and all(_is_cast(v, function) for v in values)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _is_of_parameters(left, function) and _is_of_parameters(right, function)
    return False


def _is_known(block: str, function: ParsedFunction) -> bool:
    """Return whether a block is a product of parameters and numbers."""
    return all(factor.isdecimal() or factor in function.parameters for factor in block.split(" * "))


def _is_cast(node: ast.expr, function: ParsedFunction) -> bool:
    return isinstance(node, ast.Call) and function.callee(node) in {"cast", ".to"}


class _Indices:
    """The indices of one function's expressions."""

    def __init__(self, function: ParsedFunction) -> None:
        self._function = function
        self._known: dict[str, _Index | None] = {}
        """By local name; `None` also while it is being read."""

    def of(self, node: ast.expr, depth: int = 0) -> _Index | None:
        """Return the index that an expression is, if it depends on one axis."""
        if depth > MAX_DEPTH:
            return None
        match node:
            case ast.Name(id=name):
                return self._of_name(name, depth)
            case ast.Subscript(value=value):
                return self.of(value, depth + 1)
            case ast.Call():
                return self._of_call(node, depth)
            case ast.BinOp(left=left, op=op, right=right):
                return self._of_operation(node, left, op, right, depth)
        return None

    def _of_name(self, name: str, depth: int) -> _Index | None:
        if name not in self._known:
            self._known[name] = None
            indices = (self.of(value, depth + 1) for value in self._function.values.get(name, ()))
            self._known[name] = next((index for index in indices if index is not None), None)
        return self._known[name]

    def _of_call(self, call: ast.Call, depth: int) -> _Index | None:
        callee = self._function.callee(call)
        if callee == "program_id":
            axis = argument(call, 0, "axis")
            number = axis.value if isinstance(axis, ast.Constant) else None
            return _Index(number) if isinstance(number, int) and 0 <= number < _AXES else None
        if callee == ".to" and isinstance(call.func, ast.Attribute):
            return self.of(call.func.value, depth + 1)
        return self.of(call.args[0], depth + 1) if callee in _KEEPS and call.args else None

    def _of_operation(
        self, node: ast.BinOp, left: ast.expr, op: ast.operator, right: ast.expr, depth: int
    ) -> _Index | None:
        first, second = self.of(left, depth + 1), self.of(right, depth + 1)
        known = first if first is not None else second
        if known is None or (first and second and first.axis != second.axis):
            return None
        if isinstance(op, ast.Mult) and not (first and second):
            factor = ast.unparse(right if first else left)
            return replace(known, block=f"{known.block} * {factor}" if known.block else factor)
        if isinstance(op, ast.Mod) and known.block:
            return known  # an offset that wraps around
        if isinstance(op, (*_DERIVES, ast.Sub)) or (first and second):
            return _Index(known.axis, ast.unparse(node))
        return known
