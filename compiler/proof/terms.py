"""Values and accesses as the evaluator reads them: integers, truth values, pointers, checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from compiler.diagnostic import file_in_kernel
from compiler.proof.logic import TRUE, Formula, at_least
from compiler.proof.polynomial import Polynomial
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of

if TYPE_CHECKING:
    from compiler.proof.evaluator import Evaluator

PathStep = tuple[Literal["for", "if", "while", "block"], Operation, int | str]
"""One region around an operation, with its number; or a block of a function, with its label."""
Path = tuple[PathStep, ...]
Indices = tuple[Polynomial, ...]


@dataclass(frozen=True)
class PointerCase:
    """An address: `offset` elements behind a buffer. `base` is None where no argument is known."""

    condition: Formula
    base: str | Value | None
    offset: Polynomial
    why_unknown: str = ""


@dataclass(frozen=True)
class SymbolicPointer:
    """A pointer; one of the cases' conditions holds."""

    cases: tuple[PointerCase, ...]

    def moved(self, by: Polynomial) -> SymbolicPointer:
        """Return the pointer `by` elements further."""
        return SymbolicPointer(
            tuple(
                PointerCase(case.condition, case.base, case.offset + by, case.why_unknown)
                for case in self.cases
            )
        )


@dataclass(frozen=True)
class LoadedValue:
    """A value that a load brings: `base[offset]`, where a mask leaves nothing else of it."""

    base: str
    offset: Polynomial
    is_masked: bool
    is_unsigned: bool = False
    """It may be a number that looks negative: the contract has such a range."""


Term = Polynomial | Formula | SymbolicPointer
Reader = Callable[["Evaluator", Operation, Value, Indices], Term]
"""Returns what an operation makes of its operands, at indices."""


@dataclass(frozen=True)
class Check:
    """`result` fits `bits`, or it is at least 1: a divisor, or the step of a loop."""

    kind: Literal["overflow", "divisor", "step"]
    operation: Operation
    result: Polynomial
    bits: int
    path: Path
    condition: Formula = TRUE
    """A condition where the result counts: a step only counts after the first turn."""
    earlier: frozenset[Operation] = frozenset()
    """Loops of which it is about an earlier turn than that in which its result is used."""

    @property
    def goals(self) -> tuple[Formula, ...]:
        """The formulas that must hold."""
        if self.kind != "overflow":
            return (at_least(self.result, 1),)
        limit = 1 << (self.bits - 1)
        return at_least(limit - 1, self.result), at_least(self.result, -limit)


AccessKind = Literal["load", "store", "atomic"]


@dataclass(frozen=True)
class SymbolicAccess:
    """One access of the kernel: where it goes, when it runs, and what its integers rely on."""

    operation: Operation
    kind: AccessKind
    pointer: SymbolicPointer
    path: Formula
    mask: Formula
    address_checks: frozenset[Check]
    mask_checks: frozenset[Check]


@dataclass(frozen=True)
class UnreadAccess:
    """An access that the evaluator refuses, by the name of the operation that it cannot read."""

    operation: Operation
    kind: AccessKind
    reason: str


def line_of(operation: Operation) -> int | None:
    """Return the user's innermost line of an operation, else the innermost that it has."""
    users = (
        location.line
        for location in operation.locations
        if file_in_kernel(location.file) is not None
    )
    return next(users, operation.locations[0].line if operation.locations else None)


def at_line(operation: Operation) -> str:
    """Return the place of an operation, for a message."""
    line = line_of(operation)
    return "" if line is None else f" at line {line}"


def is_of_truths(value: Value) -> bool:
    """Return True for a value, or a tensor, of truth values."""
    return element_of(value.type) == "i1"


WIDTHS = {"index": 64}
"""Widths that a type's name does not have. A test adds narrow ones, to wrap at small sizes."""


def bits_of_element(element: str) -> int:
    """Return the width of an integer type."""
    return WIDTHS.get(element) or int(element[1:])
