"""Values and accesses as the evaluator reads them: integers, truth values, pointers, checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compiler.proof.logic import TRUE, Formula, at_least
from compiler.proof.polynomial import Polynomial
from compiler.ttir_to_numpy.ir import Operation, Value

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
    """A value that a load brings: `base[offset]`."""

    base: str
    offset: Polynomial


Term = Polynomial | Formula | SymbolicPointer


@dataclass(frozen=True)
class Check:
    """`result` fits `bits`, or it is at least 1: a divisor, or the step of a loop."""

    kind: Literal["overflow", "divisor", "step"]
    operation: Operation
    result: Polynomial
    bits: int
    path: Path
    given: Formula = TRUE
    """A condition where the result counts: a step only counts after the first turn."""

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
    """An access that the evaluator refuses, by the name of what it cannot read."""

    operation: Operation
    kind: AccessKind
    reason: str


def line_of(operation: Operation) -> int | None:
    """Return the user's line of an operation: the innermost that its location names."""
    return operation.locations[0].line if operation.locations else None


def bits_of_element(element: str) -> int:
    """Return the width of an integer type."""
    return 64 if element == "index" else int(element[1:])
