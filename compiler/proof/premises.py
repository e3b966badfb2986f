"""The formulas that proofs of one kernel begin with, each with its statement of the contract."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from compiler.proof.binding import AT_LEAST_1, Fact
from compiler.proof.grounds import Ground
from compiler.proof.logic import TRUE, Formula, at_least, either, opposite
from compiler.proof.polynomial import Monomial, Polynomial, name
from compiler.proof.products import product_of
from compiler.proof.ranges import Labels
from compiler.proof.unknowns import INFINITY, Need, Unknowns


@dataclass
class Premises:
    """Derives statements from a contract's facts, and from facts about names."""

    unknowns: Unknowns
    facts: Sequence[Fact]
    _labels: dict[Formula, str] = field(init=False)

    def __post_init__(self) -> None:
        self._labels = {fact.formula: fact.label for fact in self.facts}

    def of_contract(self) -> list[Ground]:
        """Return the contract's statements, as formulas."""
        return [_stated(fact.formula, fact.label) for fact in self.facts]

    def of_name(self, text: str, conditions: Collection[Formula] = ()) -> list[Ground]:
        """Return what is known of a name where `conditions` hold.

        Facts hold where the name's value is computed: a guard that is not given is part of them.
        The facts of a contract contain what is known of scalars and sizes.
        """
        known = self.unknowns.known[text]
        nowhere = [opposite(part) for part in known.guard if part not in conditions]
        facts = (either(*nowhere, fact) for fact in known.facts)
        grounds = [_stated(fact, known.label, known.needs) for fact in facts if fact != TRUE]
        return [*grounds, *(self.bounds(text) if "#" in text else ())]

    def bounds(self, text: str) -> list[Ground]:
        """Return the least and the largest value of a name, where it has any."""
        within = self.unknowns.range(text)
        low, high = within.interval
        bounds = []
        if low > -INFINITY:
            bounds.append(self._bound(text, at_least(name(text), int(low)), within.low_under))
        if high < INFINITY:
            bounds.append(self._bound(text, at_least(int(high), name(text)), within.high_under))
        return bounds

    def natural(self, text: str) -> Ground:
        """Return why a name is at least 0."""
        formula = at_least(name(text))
        if at_least(name(text), 1) in self._labels:
            return _stated(formula, AT_LEAST_1)
        return self._bound(text, formula, self.unknowns.range(text).low_under)

    def _bound(self, text: str, formula: Formula, under: Labels) -> Ground:
        if formula in self._labels:
            return _stated(formula, self._labels[formula])
        known = self.unknowns.known.get(text)
        if known is None or "#" not in text:
            return _stated(formula)
        return Ground(formula, (under | {known.label}) - {""}, frozenset(known.needs))

    def within(self, line: Polynomial) -> Iterator[Ground]:
        """Yield what bounds each monomial of a polynomial: bounds of names, and their products."""
        for monomial in line.terms:
            if len(monomial) == 1:
                yield from self.bounds(monomial[0])
            elif monomial:
                yield from self._product_bounds(monomial)

    def _product_bounds(self, monomial: Monomial) -> Iterator[Ground]:
        """Yield the bounds of one name, times its cofactor, and so on."""
        # what may be negative first: what is multiplied by must be at least 0
        first, *rest = sorted(monomial, key=lambda text: self.unknowns.interval(text)[0])
        ends = self.bounds(first)
        if self.unknowns.interval(rest[0])[0] < 0:
            for bound, other in itertools.product(ends, self.bounds(rest[0])):
                yield product_of(bound, other)
            return
        cofactor = self.natural(rest[0])
        for text in rest[1:]:
            cofactor = product_of(cofactor, self.natural(text))
        for bound in ends:
            yield product_of(bound, cofactor)
        yield from self.within(Polynomial({tuple(rest): 1}))


def _stated(formula: Formula, label: str = "", needs: tuple[Need, ...] = ()) -> Ground:
    return Ground(formula, frozenset([label]) - {""}, frozenset(needs))
