"""One function while it is written: its lines so far, and the text of each value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.analysis import EFFECTS, Analysis
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value
from compiler.ttir_to_numpy.refusal import Untranslatable

if TYPE_CHECKING:
    from compiler.ttir_to_numpy.functions import Functions


@dataclass(frozen=True, slots=True)
class NumpyExpression:
    """`text` as Python.

    `shape` is the one that NumPy gives it: smaller than the value's where broadcasting fills the
    rest. `is_atom` means that no brackets are needed around it, `is_bare` that it is a Python
    number, which takes the dtype of its other operand.
    """

    text: str
    shape: tuple[int, ...] = ()
    is_atom: bool = True
    is_bare: bool = False

    @property
    def inner(self) -> str:
        """Return the text as an operand of an operator."""
        return self.text if self.is_atom and not self.text.startswith("-") else f"({self.text})"


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the shape that operands of these shapes give together."""
    rank = max((len(shape) for shape in shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    shape = []
    for sizes in zip(*padded, strict=True):
        wide = {size for size in sizes if size != 1} or {1}
        if len(wide) > 1:
            message = "operands of different shapes"
            raise Untranslatable(message)
        shape.append(wide.pop())
    return tuple(shape)


_NOT_OF_NAMES = re.compile(r"\W", re.ASCII)
INDENT = "    "
MAX_LOOPS = 20
"""Loops inside of loops: Python's own limit for one function."""
CONSTANTS = frozenset({"arith.constant", "ub.poison"})
"""Numbers, which are written where they are needed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the text, and its operation."""

    depth: int
    text: str
    operation: Operation | None = None


@dataclass(frozen=True, slots=True)
class NumberSpelling:
    """The spelling of a bare number, by its text and its type, if that does not suffice.

    `typed` has its dtype, `full` its whole shape, too.
    """

    typed: Callable[[str, str], NumpyExpression]
    full: Callable[[str, str], str]


@dataclass
class NameScope:
    """The names and lines of one function.

    `taken` are names that values have already; `shared_names` those that no loop may write over.
    `uniform` are values that are known to be the same for all programs.
    """

    analysis: Analysis
    functions: Functions
    spelling: NumberSpelling
    taken: set[str] = field(default_factory=set)
    lines: list[Line] = field(default_factory=list)
    depth: int = 1
    expressions: dict[Value, NumpyExpression] = field(default_factory=dict)
    uniform: set[Value] = field(default_factory=set)
    shared_names: set[str] = field(default_factory=set)
    _next: dict[str, int] = field(default_factory=dict)
    _loops: int = 0

    def emit(self, text: str, operation: Operation | None = None) -> None:
        """Add a line at the present indentation."""
        self.lines.append(Line(self.depth, text, operation))

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Write the inside of a loop. Raises `Untranslatable` for more of them than Python has."""
        self._loops += 1
        if self._loops > MAX_LOOPS:
            message = f"loops are nested more than {MAX_LOOPS} deep"
            raise Untranslatable(message)
        yield
        self._loops -= 1

    def name_for(self, value: Value, otherwise: str = "v") -> str:
        """Return the name of `value`, which it gets now; one like `otherwise` if it is unnamed."""
        known = self.expressions.get(value)
        if known is not None:
            return known.text
        name = self.fresh(value.name or otherwise)
        self.expressions[value] = NumpyExpression(name, mlir_types.shape_of(value.type))
        return name

    def fresh(self, wanted: str) -> str:
        """Return a name like `wanted` that nothing else has."""
        base = _NOT_OF_NAMES.sub("_", wanted)[:60]
        base = base if base and not base[0].isdigit() else f"v{base}"
        name = base
        number = self._next.get(base, 0)
        while name in self.taken or self.functions.has(name):
            number += 1
            name = f"{base}_{number}"
        self._next[base] = number
        self.taken.add(name)
        return name

    def share(self, value: Value, name: str) -> None:
        """Have `value` go by the name of another one whose place it takes."""
        self.expressions[value] = NumpyExpression(name, mlir_types.shape_of(value.type))

    def value(self, value: Value) -> NumpyExpression:
        """Return the text of `value`. Raises `Untranslatable` if nothing was made yet."""
        known = self.expressions.get(value)
        if known is None:
            message = "a value that is used before it is made"
            raise Untranslatable(message)
        return known

    def typed(self, value: Value) -> NumpyExpression:
        """Return the text of `value`, with its dtype even for a bare number."""
        known = self.value(value)
        if not known.is_bare:
            return known
        return self.spelling.typed(known.text, value.type)

    def exact(self, value: Value) -> str:
        """Return text for `value` in its full shape."""
        shape = mlir_types.shape_of(value.type)
        known = self.value(value)
        if known.is_bare and shape:
            return self.spelling.full(known.text, value.type)
        if known.shape != shape:
            return f"full({known.text}, {', '.join(map(str, shape))})"
        return self.typed(value).text

    def operator(
        self, operation: Operation, template: str, *, atom: bool = False
    ) -> NumpyExpression:
        """Return an operator's text: operands that are not atoms are in brackets."""
        parts = [self.value(operand) for operand in operation.operands]
        if all(part.is_bare for part in parts):
            parts = [self.typed(operation.operands[0]), *parts[1:]]
        shape = broadcast([part.shape for part in parts])
        return NumpyExpression(
            template.format(*[part.inner for part in parts]), shape, is_atom=atom
        )

    def call(
        self, operation: Operation, template: str, *, typed: bool = False, atom: bool = True
    ) -> NumpyExpression:
        """Return a call's text; `typed` gives bare numbers their dtype."""
        parts = [(self.typed if typed else self.value)(operand) for operand in operation.operands]
        if parts and not typed and all(part.is_bare for part in parts):
            parts = [self.typed(operation.operands[0]), *parts[1:]]
        shape = broadcast([part.shape for part in parts])
        is_plain = atom and "/" not in template and not template.startswith("{}.")
        texts = [part.text if is_plain else part.inner for part in parts]
        return NumpyExpression(template.format(*texts), shape, is_atom=atom)

    def define(self, operation: Operation, expression: NumpyExpression) -> None:
        """Have the result of `operation` be `expression`: a line, or part of one that follows."""
        [result] = operation.results
        is_constant = operation.name in CONSTANTS and not expression.shape
        is_known = is_constant or expression.is_bare or expression.text.isidentifier()
        if operation in self.analysis.inlined or is_known:
            self.expressions[result] = expression
            return
        name = self.name_for(result)
        self.expressions[result] = NumpyExpression(name, expression.shape)
        self.emit(f"{name} = {expression.text}", operation)

    def assign(self, targets: list[Value], texts: list[str], operation: Operation) -> None:
        """Give several values their next content at once; what stays as it is is left out."""
        pairs = [(self.name_for(t), text) for t, text in zip(targets, texts, strict=True)]
        pairs = [(name, text) for name, text in pairs if name != text]
        if pairs:
            names, values = ", ".join(n for n, _ in pairs), ", ".join(t for _, t in pairs)
            self.emit(f"{names} = {values}", operation)


def results_of(scope: NameScope, operation: Operation) -> str:
    """Return the left side of an assignment to all results: `a, b = `, or nothing."""
    names = ", ".join(scope.name_for(result) for result in operation.results)
    return f"{names} = " if names else ""


Body = Callable[[NameScope, IrBlock], Operation]
"""Writes the operations of a block except its last one, which it returns."""
Combination = Callable[[NameScope, Operation], None]
"""Writes the region of an operation as the body of a function."""


def _nothing(scope: NameScope, item: object) -> None:
    """Write nothing."""


@dataclass(frozen=True)
class Form:
    """The writers by the operation's name, and the one of a function's blocks.

    `expressions` give text for the only result, `statements` write lines, `structures` have
    regions that run in place, `with_regions` such that are separate functions.
    Operations named in `effects` are written even if their results are unused.
    """

    expressions: Mapping[str, Callable[[NameScope, Operation], NumpyExpression]]
    statements: Mapping[str, Callable[[NameScope, Operation], None]]
    structures: Mapping[str, Callable[[NameScope, Operation, Body], None]]
    with_regions: Mapping[str, Callable[[NameScope, Operation, Combination], None]]
    blocks: Callable[[NameScope, Sequence[IrBlock], Body], None]
    effects: frozenset[str] = EFFECTS
    entered: Callable[[NameScope, IrBlock], None] = _nothing
    """Writes what a block does before its operations."""
    after: Callable[[NameScope, Operation], None] = _nothing
    """Writes what follows an operation."""
