"""Proves `facts => goal` by linear arithmetic over products, case by case where a fact is an "or".

The facts of one place in a kernel are handed to the solver once; each goal of that place is one
question about them. Each answer comes with the facts that the solver used.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from compiler.proof.binding import Fact
from compiler.proof.grounds import Ground, derived, parts_of
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
from compiler.proof.premises import Premises
from compiler.proof.products import Inequalities, MadeProducts, Multiplier, products_in
from compiler.proof.proof_limits import MAX_PLACES
from compiler.proof.solver import Effort, LinearQuestion
from compiler.proof.unknowns import Conditions, Need, Unknowns

_MAX_DEPTH = 4
_MAX_WAYS = 3
_MAX_COMPARED = 12


@dataclass(frozen=True)
class Known:
    """A formula that holds, and why; `defines` is the name that it defines."""

    reason: Ground
    defines: str | None = None

    @property
    def formula(self) -> Formula:
        """The formula."""
        return self.reason.formula


Evidence = tuple[Ground, ...]
"""The formulas that show a goal: together they contradict its opposite."""


@dataclass
class _Place:
    """The facts of one place, with the products that its goals need."""

    known: Sequence[Known]
    question: LinearQuestion
    reasons: list[Ground]
    by_statement: list[frozenset[int]]
    """The numbers of the reasons that each statement of the contract is needed for."""

    def core(self, denied: Sequence[Formula]) -> Evidence | None:
        """Return reasons that contradict `denied`, without statements that are not needed."""
        numbers = self.question.refutes(denied, self.by_statement)
        return (
            None if numbers is None else tuple(self.reasons[number] for number in sorted(numbers))
        )


_PlaceKey = tuple[Conditions, frozenset[str], frozenset[Polynomial] | None]
"""The facts there, the names of its goals, and the polynomials whose products they need."""


@dataclass
class LinearProver:
    """Proves goals from the contract's facts and those of the names in them."""

    unknowns: Unknowns
    facts: Sequence[Fact]
    written: Collection[str] = ()
    """The labels that are left out of a proof which can do without them."""
    effort: Effort = field(default_factory=Effort)
    statements: Premises = field(init=False)
    _places: dict[_PlaceKey, _Place] = field(default_factory=dict)
    _always: dict[Need, Evidence | None] = field(default_factory=dict)
    _made: MadeProducts = field(default_factory=MadeProducts)

    def __post_init__(self) -> None:
        self.statements = Premises(self.unknowns, self.facts)

    def evidence(
        self, goal: Formula, conditions: Sequence[Formula], other_goals: Iterable[Formula] = ()
    ) -> Evidence | None:
        """Return what shows `goal` where `conditions` hold; None where that is not known.

        `other_goals` are those of the same place: their products are made in one go.
        """
        grounds: list[Ground] = []
        for part in conjuncts(goal):
            used = self._part_evidence(part, conditions, other_goals)
            if used is None:
                return None
            grounds += used
        return tuple(grounds)

    def always(self, formula: Formula, conditions: Conditions = ()) -> Evidence | None:
        """Return what shows a formula from the contract and conditions, None if they do not."""
        key = formula, conditions
        if key not in self._always:
            self._always[key] = self.evidence(formula, conditions)
        return self._always[key]

    def labels(self, used: Iterable[Ground]) -> frozenset[str]:
        """Return the statements of the contract behind formulas, and behind what these need."""
        labels: set[str] = set()
        pending = list(used)
        needed: set[Need] = set()
        while pending:
            ground = pending.pop()
            labels |= ground.labels
            for need in ground.needs - needed:
                needed.add(need)
                pending += self.always(*need) or ()
        return frozenset(labels)

    def _part_evidence(
        self, goal: Formula, conditions: Sequence[Formula], other_goals: Iterable[Formula]
    ) -> Evidence | None:
        denied = Ground(opposite(goal))
        if self.unknowns.is_within(goal):
            [line] = polynomials(goal)
            return self._within(denied, line)
        parts = tuple(part for condition in conditions for part in conjuncts(condition))
        if FALSE in parts:
            return ()
        goals = list(dict.fromkeys([goal, *other_goals]))
        # first without products: most goals need none, and the solver's work is theirs alone
        for with_products in (False, True):
            place = self._place(parts, goals, with_products=with_products)
            core = place.core([denied.formula])
            if core is not None:
                return core
            if not with_products and not products_in(
                p for f in (*parts, goal, *(k.formula for k in place.known)) for p in polynomials(f)
            ):
                break
        known = self.known([goal], parts)
        here = [Known(Ground(part)) for part in parts]
        known = [*here, *known, *self._compared_quotients(goal, [*here, *known])]
        core_alone = self._alone(denied, known)
        return self._by_cases(denied, known, _MAX_DEPTH) if core_alone is None else core_alone

    def _within(self, denied: Ground, line: Polynomial) -> Evidence:
        """Return the bounds of names by which a polynomial is at least 0, as far as needed."""
        bounds = tuple(self.statements.within(line))
        if not any(bound.labels or bound.needs for bound in bounds):
            return ()
        place = self._loaded([Known(bound) for bound in bounds], [], None)
        core = place.core([denied.formula])
        return bounds if core is None else core

    def _compared_quotients(self, goal: Formula, known: Sequence[Known]) -> list[Known]:
        """Return the order of quotients by one number, which products can then use.

        Linear arithmetic knows that 128 q < 128 c; that q <= c - 1 takes whole numbers.
        """
        names = {text for fact in known for text in names_of(fact.formula)} | names_of(goal)
        quotients = self.unknowns.quotients
        divided = sorted(text for text in names if text in quotients)
        compared: list[Known] = []
        place: _Place | None = None
        for a, b in itertools.permutations(divided[:_MAX_COMPARED], 2):
            divisor = quotients[a][1]
            if divisor.constant is None or divisor != quotients[b][1]:
                continue
            place = place or self._loaded(known, [], None)
            for distance in (1, 0):
                order = at_least(name(b), name(a) + distance)
                core = place.core([opposite(order)])
                if core is not None:
                    compared.append(Known(derived(order, *core)))
                    break
        return compared

    def _alone(self, denied: Ground, known: Sequence[Known]) -> Evidence | None:
        """Refute one denied goal, whose products with known facts count too."""
        place = self._loaded([Known(denied), *known], [], frozenset())
        return place.core([])

    def _place(
        self, conditions: tuple[Formula, ...], goals: Sequence[Formula], *, with_products: bool
    ) -> _Place:
        wanted = (
            frozenset(p for goal in goals for p in polynomials(goal)) if with_products else None
        )
        key = conditions, frozenset(text for goal in goals for text in names_of(goal)), wanted
        if key not in self._places:
            known = [Known(Ground(part)) for part in conditions]
            known += self.known(goals, conditions)
            if len(self._places) >= MAX_PLACES:
                del self._places[next(iter(self._places))]  # asked again, it is loaded again
            self._places[key] = self._loaded(known, [opposite(goal) for goal in goals], wanted)
        return self._places[key]

    def _loaded(
        self,
        known: Sequence[Known],
        denied: Sequence[Formula],
        wanted: frozenset[Polynomial] | None,
    ) -> _Place:
        question, reasons = LinearQuestion(self.effort), list[Ground]()
        for fact in known:
            question.add(fact.formula)
            reasons.append(fact.reason)
        if wanted is not None:
            for reason in self._products(known, denied).values():
                question.add(reason.formula)
                reasons.append(reason)
        question.load()
        return _Place(known, question, reasons, self._by_statement(reasons))

    def _by_statement(self, reasons: Sequence[Ground]) -> list[frozenset[int]]:
        """Return the numbers of the reasons that rest on each written statement."""
        numbers: dict[str, set[int]] = {}
        for number, reason in enumerate(reasons):
            for label in reason.labels:
                if label in self.written:
                    numbers.setdefault(label, set()).add(number)
        return [frozenset(numbers[label]) for label in sorted(numbers)]

    def _products(self, known: Sequence[Known], denied: Sequence[Formula]) -> Inequalities:
        """Return inequalities that follow from the known ones."""
        units: Inequalities = {}
        for fact in known:
            for part in parts_of(fact.reason):
                if isinstance(part.formula, AtLeastZero):
                    units.setdefault(part.formula.polynomial, part)
        multiplier = Multiplier(
            self.unknowns.interval, self.unknowns.quotients, self.statements.natural, self._made
        )
        names = {text for unit in units for text in unit.names}
        digits = multiplier.digits(units, names)
        for polynomial, reason in digits.items():
            units.setdefault(polynomial, reason)
        formulas = [*(fact.formula for fact in known), *denied]
        wanted = products_in(p for formula in formulas for p in polynomials(formula))
        if not wanted:
            return digits
        made = multiplier.directed(units, wanted)
        return digits | multiplier.pairs(units, wanted, made)

    def known(self, formulas: Iterable[Formula], conditions: Conditions = ()) -> list[Known]:
        """Return all that holds of names where `conditions` do.

        They are the names in formulas, in `conditions`, and in the facts of these names.
        """
        facts = {fact.formula: fact for fact in map(Known, self.statements.of_contract())}
        holds = frozenset(conditions)
        pending = [text for formula in (*formulas, *conditions) for text in names_of(formula)]
        pending += [text for formula in facts for text in names_of(formula)]
        seen: set[str] = set()
        while pending:
            text = pending.pop()
            if text in seen or text not in self.unknowns.known:
                continue
            seen.add(text)
            for reason in self.statements.of_name(text, holds):
                facts.setdefault(reason.formula, Known(reason, text))
                pending += names_of(reason.formula)
        return list(facts.values())

    # case by case

    def _by_cases(self, denied: Ground, known: list[Known], depth: int) -> Evidence | None:
        """Prove it in each case of a fact that is an "or": of a minimum, a choice, a division."""
        if depth == 0:
            return None
        for number, fact in enumerate(known):
            if fact.defines is None:
                continue
            parts = parts_of(fact.reason)
            for way in parts:
                choice = way.formula
                if not isinstance(choice, Compound) or not 1 < len(choice.parts) <= _MAX_WAYS:
                    continue
                rest = known[:number] + known[number + 1 :]
                rest += [Known(part, fact.defines) for part in parts if part is not way]
                used = [way]
                for case in map(Ground, choice.parts):
                    of_case = self._in_case(denied, rest, Known(case, fact.defines), depth)
                    if of_case is None:
                        return None
                    used += of_case
                return tuple(used)
        return None

    def _in_case(
        self, denied: Ground, rest: Sequence[Known], case: Known, depth: int
    ) -> Evidence | None:
        known = [*rest, case]
        if case.defines is not None and (equality := _value_in(case.reason, case.defines)):
            known = [Known(_replaced(k.reason, case.defines, equality), k.defines) for k in known]
            denied = _replaced(denied, case.defines, equality)
        known = [fact for fact in known if fact.formula != TRUE]
        for reason in (denied, *(fact.reason for fact in known)):
            if reason.formula == FALSE:
                return (reason,)
        core = self._alone(denied, known)
        return self._by_cases(denied, known, depth - 1) if core is None else core


def _replaced(reason: Ground, text: str, equality: tuple[Ground, Ground]) -> Ground:
    """Return a formula with a name replaced by its equal."""
    [line] = polynomials(equality[0].formula)
    made = replaced(reason.formula, text, name(text) - line)
    return reason if made == reason.formula else derived(made, reason, *equality)


def _value_in(case: Ground, text: str) -> tuple[Ground, Ground] | None:
    """Return why a name is at least, and at most, its fixed value in a case, if it has one."""
    parts = {part.formula: part for part in parts_of(case)}
    for formula, part in parts.items():
        if not isinstance(formula, AtLeastZero):
            continue
        polynomial = formula.polynomial
        if polynomial.terms.get((text,)) != 1 or sum(text in m for m in polynomial.terms) != 1:
            continue
        other = parts.get(at_least(-polynomial))
        if other is not None:
            return part, other
    return None
