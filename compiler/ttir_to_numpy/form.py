"""The differences between the two texts of a kernel: the writer of each operation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from compiler.ttir_to_numpy.analysis import EFFECTS
from compiler.ttir_to_numpy.ir import IrBlock, Operation
from compiler.ttir_to_numpy.numpy_expression import NumpyExpression
from compiler.ttir_to_numpy.scope import NameScope

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
