"""Proves `facts => goal` by linear arithmetic over products, case by case where a fact says "or".

The facts of one place in a kernel are handed to the solver once; each goal of that place is one
question about them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compiler.proof.binding import Fact
from compiler.proof.logic import (
    FALSE,
    TRUE,
    AtLeastZero,
    Compound,
    Formula,
    at_least,
    conjuncts,
    names_of,
    opposite,
    polynomials,
    replaced,
)
from compiler.proof.polynomial import Polynomial, name
from compiler.proof.products import Labels, Multiplier, products_in
from compiler.proof.solver import Effort, LinearQuestion
from compiler.proof.unknowns import INFINITY, Unknowns

GIVEN: Labels = frozenset()
_DEEPEST = 4
_MOST_WAYS = 3
_MOST_COMPARED = 12


@dataclass(frozen=True)
class _Known:
    """One fact with the statements that say so; `defines` is the name that it defines."""

    formula: Formula
    labels: Labels
    defines: str | None = None


@dataclass
class _Place:
    """The facts of one place, with the products that its goals need."""

    known: Sequence[_Known]
    question: LinearQuestion
    labels: list[Labels]


@dataclass
class LinearProver:
    """Proves goals from the contract's facts and those of the names in them."""

    unknowns: Unknowns
    facts: Sequence[Fact]
    effort: Effort = field(default_factory=Effort)
    _places: dict[tuple[tuple[Formula, ...], frozenset[Polynomial]], _Place] = field(
        default_factory=dict
    )

    def prove(
        self, goal: Formula, given: Sequence[Formula], beside: Iterable[Formula] = ()
    ) -> Labels | None:
        """Return the statements that a proof of `goal` rests on, None where there is none.

        `beside` are other goals of the same place: their products are made in one go.
        """
        if goal == TRUE:
            return GIVEN
        found: Labels = GIVEN
        for part in conjuncts(goal):
            made = self._prove_part(part, given, beside)
            if made is None:
                return None
            found |= made
        return found

    def _prove_part(
        self, goal: Formula, given: Sequence[Formula], beside: Iterable[Formula]
    ) -> Labels | None:
        if self._is_within(goal):
            return self._bounds_of(goal)
        parts = tuple(part for one in given for part in conjuncts(one))
        if FALSE in parts:
            return GIVEN
        goals = list(dict.fromkeys([goal, *beside]))
        # first without products: most goals need none, and the solver's work is theirs alone
        for with_products in (False, True):
            place = self._place(parts, goals, with_products=with_products)
            core = place.question.refutes([opposite(goal)])
            if core is not None:
                return self._labels(place, core)
            if not with_products and not products_in(
                p for f in (*parts, goal, *(k.formula for k in place.known)) for p in polynomials(f)
            ):
                break
        denied = opposite(goal)
        known = self.known([*parts, goal])
        known += self._compared_quotients(parts, goal, known)
        alone = self._alone(denied, parts, known)
        return self._by_cases(denied, parts, known, _DEEPEST) if alone is None else alone

    def _compared_quotients(
        self, given: tuple[Formula, ...], goal: Formula, known: Sequence[_Known]
    ) -> list[_Known]:
        """Return the order of quotients by one number, which products can then use.

        Linear arithmetic knows that 128 q < 128 c; that q <= c - 1 takes whole numbers.
        """
        names = {text for one in (*given, goal) for text in names_of(one)}
        names |= {text for one in known for text in names_of(one.formula)}
        quotients = self.unknowns.quotients
        divided = sorted(text for text in names if text in quotients)
        found: list[_Known] = []
        place: _Place | None = None
        for a, b in itertools.permutations(divided[:_MOST_COMPARED], 2):
            divisor = quotients[a][1]
            if divisor.constant is None or divisor != quotients[b][1]:
                continue
            place = place or self._loaded(
                [*(_Known(one, GIVEN) for one in given), *known], [], None
            )
            for distance in (1, 0):
                order = at_least(name(b), name(a) + distance)
                core = place.question.refutes([opposite(order)])
                if core is not None:
                    found.append(_Known(order, self._labels(place, core)))
                    break
        return found

    def _alone(
        self, denied: Formula, given: Sequence[Formula], known: Sequence[_Known]
    ) -> Labels | None:
        """Refute one denied goal, whose products with what is known count too."""
        hypotheses = [_Known(denied, GIVEN), *(_Known(one, GIVEN) for one in given), *known]
        place = self._loaded(hypotheses, [], frozenset())
        core = place.question.refutes([])
        return None if core is None else self._labels(place, core)

    def _is_within(self, goal: Formula) -> bool:
        return (
            isinstance(goal, AtLeastZero)
            and goal.polynomial.interval(self.unknowns.interval)[0] >= 0
        )

    def _bounds_of(self, goal: Formula) -> Labels:
        """Return what the intervals of the names in a goal rest on."""
        return self.unknowns.support_of(goal) | self._scalar_labels(goal)

    def _scalar_labels(self, goal: Formula) -> Labels:
        """Return the default statements about the scalars and sizes in a goal."""
        mentioned = names_of(goal)
        return frozenset(
            fact.label
            for fact in self.facts
            if isinstance(fact.formula, AtLeastZero)
            and len(fact.formula.polynomial.names) == 1
            and fact.formula.polynomial.names <= mentioned
        )

    def _place(
        self, given: tuple[Formula, ...], goals: Sequence[Formula], *, with_products: bool
    ) -> _Place:
        wanted = (
            frozenset(p for goal in goals for p in polynomials(goal)) if with_products else None
        )
        key = given, wanted or frozenset()
        if key not in self._places:
            known = [_Known(part, GIVEN) for part in given]
            known += self.known([*given, *goals])
            self._places[key] = self._loaded(known, [opposite(goal) for goal in goals], wanted)
        return self._places[key]

    def _loaded(
        self,
        known: Sequence[_Known],
        denied: Sequence[Formula],
        wanted: frozenset[Polynomial] | None,
    ) -> _Place:
        question, labels = LinearQuestion(self.effort), list[Labels]()
        for one in known:
            question.add(one.formula)
            labels.append(one.labels)
        if wanted is not None:
            for polynomial, of in self._products(known, denied).items():
                question.add(AtLeastZero(polynomial))
                labels.append(of)
        question.load()
        return _Place(known, question, labels)

    def _products(
        self, known: Sequence[_Known], denied: Sequence[Formula]
    ) -> dict[Polynomial, Labels]:
        """Return inequalities that follow from the known ones."""
        units: dict[Polynomial, Labels] = {}
        for one in known:
            for part in conjuncts(one.formula):
                if isinstance(part, AtLeastZero):
                    units.setdefault(part.polynomial, one.labels)
        multiplier = Multiplier(self.unknowns.interval, self.unknowns.quotients)
        names = {text for unit in units for text in unit.names}
        digits = multiplier.digits(units, names)
        for polynomial, labels in digits.items():
            units.setdefault(polynomial, labels)
        formulas = [*(one.formula for one in known), *denied]
        wanted = products_in(p for formula in formulas for p in polynomials(formula))
        if not wanted:
            return digits
        made = multiplier.directed(units, wanted)
        return digits | multiplier.pairs(units, wanted, made)

    def known(self, formulas: Iterable[Formula]) -> list[_Known]:
        """Return all that holds of the names in formulas, and in the facts of these names."""
        found = [_Known(fact.formula, frozenset([fact.label]) - {""}) for fact in self.facts]
        pending = [text for one in formulas for text in names_of(one)]
        pending += [text for one in found for text in names_of(one.formula)]
        seen: set[str] = set()
        while pending:
            text = pending.pop()
            if text in seen or text not in self.unknowns.known:
                continue
            seen.add(text)
            unknown = self.unknowns.known[text]
            for fact in unknown.facts:
                found.append(_Known(fact, unknown.support, text))
                pending += names_of(fact)
            if "#" in text:
                low, high = unknown.bounds
                bounds = [at_least(name(text), int(low))] if low > -INFINITY else []
                bounds += [at_least(int(high), name(text))] if high < INFINITY else []
                found += [_Known(bound, unknown.support) for bound in bounds]
        return list(dict.fromkeys(found))

    def _labels(self, place: _Place, core: frozenset[int]) -> Labels:
        found: Labels = GIVEN
        for number in core:
            found |= place.labels[number]
        return found

    # case by case

    def _by_cases(
        self, denied: Formula, given: Sequence[Formula], known: list[_Known], depth: int
    ) -> Labels | None:
        """Prove it in each case of a fact that says "or": of a minimum, a choice, a division."""
        if depth == 0:
            return None
        for number, one in enumerate(known):
            for way in conjuncts(one.formula):
                if not isinstance(way, Compound) or not 1 < len(way.parts) <= _MOST_WAYS:
                    continue
                rest = known[:number] + known[number + 1 :]
                rest += [
                    _Known(part, one.labels, one.defines)
                    for part in conjuncts(one.formula)
                    if part is not way
                ]
                found: Labels | None = one.labels
                for case in way.parts:
                    made = self._in_case(
                        denied, given, rest, _Known(case, one.labels, one.defines), depth
                    )
                    if made is None:
                        found = None
                        break
                    assert found is not None
                    found |= made
                return found
        return None

    def _in_case(
        self,
        denied: Formula,
        given: Sequence[Formula],
        rest: Sequence[_Known],
        case: _Known,
        depth: int,
    ) -> Labels | None:
        known = [*rest, case]
        if case.defines is not None and (by := _value_in(case.formula, case.defines)) is not None:
            text = case.defines
            known = [_Known(replaced(k.formula, text, by), k.labels, k.defines) for k in known]
            given = [replaced(one, text, by) for one in given]
            denied = replaced(denied, text, by)
        known = [one for one in known if one.formula != TRUE]
        if FALSE in (denied, *given, *(one.formula for one in known)):
            return case.labels
        alone = self._alone(denied, given, known)
        if alone is not None:
            return alone | case.labels
        return self._by_cases(denied, given, known, depth - 1)


def _value_in(case: Formula, text: str) -> Polynomial | None:
    """Return what a name equals in a case, if the case says so."""
    parts = conjuncts(case)
    for part in parts:
        if not isinstance(part, AtLeastZero):
            continue
        polynomial = part.polynomial
        if polynomial.terms.get((text,)) != 1 or sum(text in m for m in polynomial.terms) != 1:
            continue
        if at_least(-polynomial) in parts:
            return name(text) - polynomial
    return None
