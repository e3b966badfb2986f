"""A contract as plain records: what every launch keeps. `launch.contract` reads its text.

Extents are in elements. Every scalar and every size is at least 1, unless `any` names it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Operator = Literal["+", "-", "*", "//", "%", "cdiv", "min", "max"]
Relation = Literal["<=", "<", ">=", ">", "=="]


@dataclass(frozen=True)
class Position:
    """A place in the contract's text, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Number:
    """An integer."""

    value: int


@dataclass(frozen=True)
class ContractName:
    """A scalar, a constexpr or a size, by its name."""

    text: str
    position: Position


@dataclass(frozen=True)
class Arithmetic:
    """An operator with its two operands."""

    operator: Operator
    operands: tuple[Expression, Expression]


Expression = Number | ContractName | Arithmetic


@dataclass(frozen=True)
class Inequality:
    """`a <= b`, as one statement of the contract."""

    text: str
    relation: Relation
    left: Expression
    right: Expression


@dataclass(frozen=True)
class ValueRange:
    """The values in a buffer: from `low` on, below `high`."""

    low: Expression
    high: Expression


@dataclass(frozen=True)
class Contract:
    """A contract; `names` are those that its statements begin with, with their places."""

    sizes: tuple[ContractName, ...] = ()
    """Names beyond the kernel's scalars."""
    anything: tuple[ContractName, ...] = ()
    """Scalars that may be negative or 0."""
    fixed: dict[ContractName, Expression] = field(default_factory=dict)
    """Scalars that always equal an expression."""
    extents: dict[ContractName, Expression] = field(default_factory=dict)
    """The number of elements of each buffer."""
    values: dict[ContractName, ValueRange] = field(default_factory=dict)
    comparisons: tuple[Inequality, ...] = ()
    grid: tuple[Expression, ...] = (Number(1),)


class ContractError(Exception):
    """A mistake in a contract's text, with its place."""

    def __init__(self, message: str, position: Position) -> None:
        super().__init__(f"line {position.line}, column {position.column}: {message}")
        self.message = message
        self.position = position
