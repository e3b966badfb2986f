"""Grids: one to three integers or small expressions over scalars, constexprs and NUM_SMS.

The expressions are this service's own grammar, read with Python's parser and walked by hand;
nothing is evaluated as Python.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.launch.formula import FormulaFailed, evaluated, names_in
from compiler.rejection import Fault, RequestRejected, shown
from compiler.value import pointer_below

LIMITS = (2**31 - 1, 65_535, 65_535)  # CUDA's, of x, y and z
NUM_SMS = "NUM_SMS"
MAX_CHARS = 256
MAX_NODES = 64

_CHARACTERS = re.compile(r"[\w\s+\-*/%(),.]*", re.ASCII)
_RUN_TOGETHER = re.compile(r"(?<![\w.])\d+(?:_|[A-Za-z])", re.ASCII)
_GRAMMAR = (
    "a dimension is an integer or an expression of integers, names, + - * // %, parentheses, "
    "cdiv(a, b), min(a, b), max(a, b) and next_power_of_2(a)"
)


@dataclass(frozen=True, slots=True)
class Grid:
    """One to three dimensions, parsed; `at` is where the request says them."""

    dimensions: tuple[ast.expr, ...] = field(compare=False, repr=False)
    written: tuple[int | str, ...]
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
                message = f"{shown(self.written[axis])}: {failed}"
                faults.append(Fault(pointer_below(self.at, axis), message))
        if faults:
            raise RequestRejected(*faults)
        return grid


def parse_grid(raw: Any, at: str = "/grid") -> Grid:
    """Read the grid written at pointer `at`.

    Raises RequestRejected for every dimension that is none.
    """
    if not isinstance(raw, list) or not 1 <= len(raw) <= len(LIMITS):
        raise RequestRejected(Fault(at, f"must be a list of one to three; {_GRAMMAR}"))
    faults = list(_faults(raw, at))
    if faults:
        raise RequestRejected(*faults)
    return Grid(tuple(_parse(str(item)) for item in raw), tuple(raw), at)


def _faults(raw: Sequence[Any], at: str) -> Iterator[Fault]:
    for axis, item in enumerate(raw):
        try:
            _check(item, axis)
        except FormulaFailed as failed:
            yield Fault(pointer_below(at, axis), f"{shown(item)}: {failed}")


def _check(item: Any, axis: int) -> None:
    if isinstance(item, bool) or not isinstance(item, int | str):
        raise FormulaFailed(_GRAMMAR)
    if isinstance(item, int):
        _bounded(item, axis)
    else:
        names_in(_parse(item))


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_CHARS:
        raise FormulaFailed(f"longer than {MAX_CHARS} characters")
    if not _CHARACTERS.fullmatch(text) or _RUN_TOGETHER.search(text):
        raise FormulaFailed(_GRAMMAR)
    try:
        expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaFailed(f"not an expression; {_GRAMMAR}") from None
    if sum(1 for _ in ast.walk(expression)) > MAX_NODES:
        raise FormulaFailed(f"more than {MAX_NODES} terms and operators")
    return expression


def _bounded(extent: int, axis: int) -> int:
    if not 1 <= extent <= LIMITS[axis]:
        shown_extent = extent if extent.bit_length() <= 64 else "an integer beyond 64 bits"
        message = f"is {shown_extent}; dimension {'xyz'[axis]} goes from 1 to {LIMITS[axis]}"
        raise FormulaFailed(message)
    return extent
