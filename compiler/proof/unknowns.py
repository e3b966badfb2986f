"""The unknowns of a kernel: sizes, lanes, programs, and names for values that are not polynomials.

A quotient, a minimum or a loaded value gets a name, and facts that tie it to its operands.

Facts never restrict other names: whatever values these have, some value of the name keeps its
bounds and its facts. So nothing follows from a name whose value is never computed, and no integer
fits its type because of its uses. A fact that some operands would contradict
carries a guard: what holds wherever the value is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from compiler.proof import ranges
from compiler.proof.logic import (
    FALSE,
    TRUE,
    AtLeastZero,
    Formula,
    at_least,
    both,
    conjuncts,
    either,
    equal,
    names_of,
    opposite,
    replaced,
)
from compiler.proof.polynomial import Interval, Polynomial, lift, name
from compiler.proof.proof_limits import MAX_NAMES, ProofLimitReached
from compiler.proof.ranges import Range, range_of
from compiler.ttir_to_numpy.ir import Operation

INFINITY = float("inf")
EVERYTHING: Interval = (-INFINITY, INFINITY)
ANY = Range(*EVERYTHING)
Loops = frozenset[Operation]
Conditions = tuple[Formula, ...]
Need = tuple[Formula, Conditions]
"""A formula that was shown where others hold."""


@dataclass(slots=True)
class Unknown:
    """All that is known of one name."""

    range: Range
    facts: list[Formula] = field(default_factory=list)
    origin: str | None = None
    """The source of its value, if no formula defines it: a load, or a reduction."""
    loops: Loops = frozenset()
    """The loops in whose turns it differs."""
    label: str = ""
    """The statement of the contract that its facts are."""
    needs: tuple[Need, ...] = ()
    """The checks that were shown before its facts could be stated."""
    guard: Conditions = ()
    """The guard of its facts. Its range holds everywhere: there it excludes no value of it."""


@dataclass(slots=True)
class Unknowns:
    """All names of one kernel.

    `prove` returns whether a formula follows from what always holds, and from some conditions.
    `where` returns what holds wherever the value is computed that is being read, and None while
    that itself is read.
    """

    prove: Callable[[Formula, Conditions], bool] | None = None
    where: Callable[[], Conditions | None] = tuple
    known: dict[str, Unknown] = field(default_factory=dict)
    quotients: dict[str, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    """Dividend (at least 0) and divisor (at least 1) of a quotient."""
    exclusive: dict[str, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    """The operands of an exclusive or: one of them follows from the other one and the result."""
    _defined: dict[tuple[object, ...], Polynomial] = field(default_factory=dict)
    decided: dict[Need, None] = field(default_factory=dict)
    """Facts that a value without a name was read with, such as the smaller side of a minimum."""
    _sure: dict[Need, bool] = field(default_factory=dict)

    def fresh(
        self,
        kind: str,
        within: Range = ANY,
        origin: str | None = None,
        loops: Loops = frozenset(),
    ) -> str:
        """Return a new name. It has a `#`, which no name of a user has."""
        made = f"{kind}#{len(self.known)}"
        if len(self.known) >= MAX_NAMES:
            raise ProofLimitReached(f"its addresses need more than {MAX_NAMES} unknowns")
        self.known[made] = Unknown(within, origin=origin, loops=loops)
        return made

    def define(self, text: str, within: Range) -> None:
        """Note the range of a name that is not made here: a scalar, a size, or a lane."""
        self.known[text] = Unknown(within)

    def interval(self, text: str) -> Interval:
        """Return the bounds of a name."""
        unknown = self.known.get(text)
        return EVERYTHING if unknown is None else unknown.range.interval

    def range(self, value: Polynomial | str) -> Range:
        """Return the bounds of a value, with the statements that they rest on."""
        if isinstance(value, Polynomial):
            return range_of(value, self.range)
        unknown = self.known.get(value)
        return ANY if unknown is None else unknown.range

    def loops_of(self, parts: Iterable[Polynomial | Formula]) -> Loops:
        """Return the loops in whose turns one of `parts` differs."""
        loops: set[Operation] = set()
        for part in parts:
            for text in part.names if isinstance(part, Polynomial) else names_of(part):
                if text in self.known:
                    loops |= self.known[text].loops
        return frozenset(loops)

    def shown(self, formula: Formula) -> Need | None:
        """Return where a formula is known to hold: always, or where the value is computed."""
        if formula == TRUE:
            return TRUE, ()
        if formula == FALSE:
            return None
        if self._is_shown(formula, ()):
            return formula, ()
        here = self.where()
        return (formula, here) if here and self._is_shown(formula, here) else None

    def _is_shown(self, formula: Formula, conditions: Conditions) -> bool:
        key = formula, conditions
        if key not in self._sure:
            is_shown = self.is_within(formula)
            if not is_shown and self.prove is None:  # the contract is not read to its end
                return False
            self._sure[key] = is_shown or (
                self.prove is not None and self.prove(formula, conditions)
            )
        return self._sure[key]

    def is_within(self, formula: Formula) -> bool:
        """Return whether an inequality holds by the bounds of its names alone."""
        return (
            isinstance(formula, AtLeastZero) and formula.polynomial.interval(self.interval)[0] >= 0
        )

    def decides(self, formula: Formula) -> bool:
        """Return whether a formula holds, where a value is then read without a name."""
        shown = self.shown(formula)
        if shown is not None and shown != _ALWAYS:
            self.decided[shown] = None
        return shown is not None

    def _define(
        self,
        key: tuple[object, ...],
        needs: Iterable[Need | None],
        make: Callable[[], tuple[str, Range, list[Formula]]],
        parts: Sequence[Polynomial | Formula],
    ) -> Polynomial:
        """Return the name that `key` defines; `make` returns its kind, its range and its facts.

        The facts hold where its `needs` do.
        """
        known = tuple(need for need in needs if need is not None and need != _ALWAYS)
        guard = tuple(dict.fromkeys(part for _, where in known for part in where))
        whole = (*key, guard)
        if whole not in self._defined:
            kind, within, facts = make()
            text = self.fresh(kind, within, loops=self.loops_of(parts))
            self.state(text, (replaced(fact, "#", name(text)) for fact in facts), known)
            self._defined[whole] = name(text)
        return self._defined[whole]

    def state(self, text: str, facts: Iterable[Formula], needs: Iterable[Need]) -> None:
        """State facts of a name, which hold where what they need was shown."""
        unknown = self.known[text]
        unknown.facts, unknown.needs = list(facts), tuple(dict.fromkeys(needs))
        unknown.guard = tuple(dict.fromkeys(part for _, where in unknown.needs for part in where))

    def either(self, condition: Formula, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return `a` where `condition` holds, `b` elsewhere."""
        if a == b or condition == TRUE:
            return a
        if condition == FALSE:
            return b

        def make() -> tuple[str, Range, list[Formula]]:
            chosen = either(
                both(condition, equal(ITSELF, a)), both(opposite(condition), equal(ITSELF, b))
            )
            return "choice", self.range(a) | self.range(b), [chosen]

        return self._define(("either", condition, a, b), (), make, (condition, a, b))

    def smaller(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the minimum."""
        return self._extreme(a, b, smallest=True)

    def larger(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the maximum."""
        return self._extreme(a, b, smallest=False)

    def _extreme(self, a: Polynomial, b: Polynomial, *, smallest: bool) -> Polynomial:
        if a.constant is not None and b.constant is not None:
            return lift((min if smallest else max)(a.constant, b.constant))

        if self.decides(at_least(a, b)):
            return b if smallest else a
        if self.decides(at_least(b, a)):
            return a if smallest else b

        def make() -> tuple[str, Range, list[Formula]]:
            within = (ranges.smaller if smallest else ranges.larger)(self.range(a), self.range(b))
            order = (
                [at_least(a, ITSELF), at_least(b, ITSELF)]
                if smallest
                else [at_least(ITSELF, a), at_least(ITSELF, b)]
            )
            facts = [*order, either(equal(ITSELF, a), equal(ITSELF, b))]
            return "min" if smallest else "max", within, facts

        return self._define(("extreme", a, b, smallest), (), make, (a, b))

    def quotient(self, a: Polynomial, b: Polynomial, *, floor: bool) -> Polynomial:
        """Return `a / b`, rounded down or (as MLIR's divsi does) to zero.

        Where `b` is 0, or less and rounded down, nothing is known of it.
        """
        if a.constant is not None and b.constant:
            q = abs(a.constant) // abs(b.constant)
            q = q if (a.constant >= 0) == (b.constant > 0) else -q
            return lift(a.constant // b.constant if floor else q)
        if b.constant == 1:
            return a
        is_positive = self.shown(at_least(b, 1))
        is_natural = self.shown(at_least(a)) if is_positive else None
        rounding = "natural" if is_natural else "down" if floor else "to zero"

        def make() -> tuple[str, Range, list[Formula]]:
            down = [at_least(a, b * ITSELF), at_least(b * ITSELF + b - 1, a)]
            if is_natural:
                return "quotient", self._quotient_range(a, b), [*down, at_least(ITSELF)]
            if is_positive and floor:
                return "quotient", self._quotient_range(a, b), down
            up = [at_least(b * ITSELF, a), at_least(a, b * ITSELF - b + 1), at_least(-ITSELF)]
            of_negative = both(*down) if floor else both(*up)
            facts = either(
                both(at_least(b, 1), at_least(a), *down, at_least(ITSELF)),
                both(at_least(b, 1), at_least(-1, a), of_negative),
                at_least(0, b) if floor else both(at_least(0, b), _by_negative(a, b)),
            )
            of_a = self.range(a)
            size = max(map(abs, of_a.interval))
            return "quotient", of_a.between(-size, size) if is_positive else ANY, [facts]

        made = self._define(("quotient", a, b, rounding), (is_positive, is_natural), make, (a, b))
        [text] = made.names
        if is_natural and not self.known[text].guard:
            self.quotients[text] = a, b
        return made

    def _quotient_range(self, a: Polynomial, b: Polynomial) -> Range:
        of_a, of_b = self.range(a), self.range(b)
        low, high = of_a.interval
        divisor = max(of_b.low, 1)
        most = max(of_b.high, divisor)  # it may be less where nothing is computed
        by_divisor = of_b.low_under if divisor > 1 else ranges.NO_LABELS
        bottom, low_under = low, of_a.low_under
        if low >= 0:
            bottom = low // most if most < INFINITY else 0
            low_under = low_under | of_b.high_under if bottom else low_under
        elif low > -INFINITY:
            bottom, low_under = low // divisor, low_under | by_divisor
        top, high_under = high, of_a.high_under
        if high < 0:
            top = -1
        elif high < INFINITY:
            top, high_under = high // divisor, high_under | by_divisor
        return Range(bottom, top, low_under, high_under)

    def remainder(self, a: Polynomial, b: Polynomial, *, floor: bool) -> Polynomial:
        """Return what a division leaves: a new name, so that its bounds are facts."""
        q = self.quotient(a, b, floor=floor)
        if q.constant is not None or b.constant == 1:
            return a - b * q
        natural = self.shown(at_least(a))
        is_usual = [self.shown(at_least(b, 1)), _ALWAYS if floor else natural]

        def make() -> tuple[str, Range, list[Formula]]:
            facts = list(conjuncts(equal(ITSELF, a - b * q)))
            if None in is_usual:
                return "remainder", ANY, facts
            of_b = self.range(b)
            within = Range(0, max(of_b.high - 1, 0), high_under=of_b.high_under)
            facts += [at_least(ITSELF), at_least(b, ITSELF + 1)]
            if natural is not None:
                facts.append(at_least(a, ITSELF))
            return "remainder", within, facts

        # the quotient's facts are what lets this name be smaller than the divisor
        needs = [*is_usual, natural, *self._needs_of(q)]
        return self._define(("remainder", a, b, floor), needs, make, (a, b, q))

    def _needs_of(self, defined: Polynomial) -> tuple[Need, ...]:
        return tuple(need for text in defined.names for need in self.known[text].needs)


def _by_negative(a: Polynomial, b: Polynomial) -> Formula:
    """Return what `a / b`, rounded to zero, is for a negative divisor; nothing for 0."""
    of_natural = at_least(a, b * ITSELF), at_least(b * ITSELF - b - 1, a), at_least(-ITSELF)
    of_negative = at_least(b * ITSELF, a), at_least(a, b * ITSELF + b + 1), at_least(ITSELF)
    return either(
        equal(b, 0),
        both(at_least(-1, b), at_least(a), *of_natural),
        both(at_least(-1, b), at_least(-1, a), *of_negative),
    )


ITSELF = name("#")
"""The name that is being defined, in its own facts."""
_ALWAYS: Need = TRUE, ()
