"""Why a formula holds in a proof, back to the statements that a certificate begins with.

Reasons are compared by identity: two that say the same may have been found in different ways.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.proof.logic import Formula, conjuncts


@dataclass(frozen=True)
class Premise:
    """A formula that a proof begins with: of the contract, of the path, or the meaning of a name.

    `label` is what a proof that rests on it says, "" for mere types. `needs` are formulas that were
    shown before it was made.
    """

    formula: Formula
    why: str
    label: str = ""
    needs: tuple[Formula, ...] = ()


@dataclass(frozen=True, eq=False)
class Ground:
    """Something that holds, for the reason that its class says."""

    formula: Formula


@dataclass(frozen=True, eq=False)
class Stated(Ground):
    """A statement."""

    statement: Premise


@dataclass(frozen=True, eq=False)
class Assumed(Ground):
    """A denied goal, or one case of several."""


@dataclass(frozen=True, eq=False)
class PartOf(Ground):
    """One of several formulas that all hold."""

    of: Ground
    number: int


@dataclass(frozen=True, eq=False)
class Product(Ground):
    """Two inequalities, multiplied: both are at least 0."""

    factors: tuple[Ground, Ground]


@dataclass(frozen=True, eq=False)
class Replaced(Ground):
    """The same with what a name equals in its place; the two inequalities say that it does."""

    of: Ground
    name: str
    equality: tuple[Ground, Ground]


@dataclass(frozen=True, eq=False)
class Always(Ground):
    """A formula that was shown from the contract alone."""


@dataclass(frozen=True, eq=False)
class Lemma(Ground):
    """A formula whose opposite contradicts the others in `by`."""

    denied: Assumed
    by: tuple[Ground, ...]


@dataclass(frozen=True)
class Contradiction:
    """Inequalities, each so many times, whose sum is a negative number."""

    terms: tuple[tuple[int, Ground], ...]


@dataclass(frozen=True)
class Clash:
    """A truth value and its opposite."""

    first: Ground
    second: Ground


@dataclass(frozen=True)
class CaseSplit:
    """One of several formulas holds, and each is refuted. Of none, nothing holds."""

    of: Ground
    ways: tuple[tuple[Assumed, Refutation], ...]


@dataclass(frozen=True)
class Unexplained:
    """The solver alone says that these contradict each other."""

    reasons: tuple[Ground, ...]


Refutation = Contradiction | Clash | CaseSplit | Unexplained


def labels_of(reason: Ground, known: dict[Ground, frozenset[str]]) -> frozenset[str]:
    """Return the statements of the contract that a reason rests on; `known` keeps the answers."""
    if reason not in known:
        below: tuple[Ground, ...] = ()
        match reason:
            case Stated(_, statement):
                known[reason] = frozenset([statement.label]) - {""}
                return known[reason]
            case PartOf(_, of, _):
                below = (of,)
            case Product(_, factors):
                below = factors
            case Replaced(_, of, _, equality):
                below = (of, *equality)
            case Lemma(_, _, by):
                below = by
        known[reason] = frozenset[str]().union(*(labels_of(one, known) for one in below))
    return known[reason]


def parts_of(reason: Ground) -> tuple[Ground, ...]:
    """Return a reason for each formula of those that all hold."""
    parts = conjuncts(reason.formula)
    if len(parts) == 1 and parts[0] is reason.formula:
        return (reason,)
    return tuple(PartOf(part, reason, number) for number, part in enumerate(parts))
