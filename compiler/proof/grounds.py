"""Formulas that hold in a proof, each with the statements of the contract that it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.proof.logic import Formula, conjuncts
from compiler.proof.unknowns import Need


@dataclass(frozen=True, eq=False)
class Ground:
    """A formula that holds. Two of them are compared by identity, which is cheap.

    `labels` are the statements that a proof from it lists. `needs` are what was shown before
    it was written down, so that a proof rests on their statements, too.
    """

    formula: Formula
    labels: frozenset[str] = frozenset()
    needs: frozenset[Need] = frozenset()


def derived(formula: Formula, *sources: Ground) -> Ground:
    """Return a formula that follows from others."""
    return Ground(
        formula,
        frozenset[str]().union(*[source.labels for source in sources if source.labels]),
        frozenset[Need]().union(*[source.needs for source in sources if source.needs]),
    )


def parts_of(ground: Ground) -> tuple[Ground, ...]:
    """Return a ground for each formula of those that all hold."""
    parts = conjuncts(ground.formula)
    if len(parts) == 1 and parts[0] is ground.formula:
        return (ground,)
    return tuple(Ground(part, ground.labels, ground.needs) for part in parts)
