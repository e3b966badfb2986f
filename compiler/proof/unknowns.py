"""The unknowns of a kernel: sizes, lanes, programs, and names for what is no polynomial.

A quotient, a minimum or a loaded value gets a name, and facts that tie it to what it is made of.
A fact counts only where its name stands in a question: those of an empty loop prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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
from compiler.proof.proof_limits import MOST_NAMES, ProofLimitReached
from compiler.ttir_to_numpy.ir import Operation

INFINITY = float("inf")
EVERYTHING: Interval = (-INFINITY, INFINITY)
Loops = frozenset[Operation]


@dataclass(slots=True)
class Unknown:
    """All that is known of one name."""

    bounds: Interval
    facts: list[Formula] = field(default_factory=list)
    origin: str | None = None
    """Where its value comes from, if no formula says what it is: a load, or a reduction."""
    loops: Loops = frozenset()
    """The loops in whose turns it differs."""
    label: str = ""
    """The statement of the contract that its facts are."""
    needs: tuple[Formula, ...] = ()
    """Formulas that were shown before its facts could be said."""


@dataclass(slots=True)
class Unknowns:
    """All names of one kernel. `prove` tells whether a formula follows from what always holds."""

    prove: Callable[[Formula], bool] | None = None
    known: dict[str, Unknown] = field(default_factory=dict)
    quotients: dict[str, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    """Dividend (at least 0) and divisor (at least 1) of a quotient."""
    _defined: dict[tuple[object, ...], Polynomial] = field(default_factory=dict)
    decided: dict[Formula, None] = field(default_factory=dict)
    """Formulas that were shown to say a value simply: which side of a minimum is the smaller."""
    _sure: dict[Formula, bool] = field(default_factory=dict)
    _needs: list[Formula] = field(default_factory=list)

    def fresh(
        self,
        kind: str,
        bounds: Interval = EVERYTHING,
        facts: Iterable[Formula] = (),
        origin: str | None = None,
        loops: Loops = frozenset(),
    ) -> str:
        """Return a new name. It has a `#`, which no name of a user has."""
        made = f"{kind}#{len(self.known)}"
        if len(self.known) >= MOST_NAMES:
            raise ProofLimitReached(f"its addresses need more than {MOST_NAMES} unknowns")
        self.known[made] = Unknown(bounds, list(facts), origin, loops)
        return made

    def define(self, text: str, bounds: Interval) -> None:
        """Note the bounds of a name that is not made here: a scalar, a size, or a lane."""
        self.known[text] = Unknown(bounds)

    def interval(self, text: str) -> Interval:
        """Return the bounds of a name."""
        found = self.known.get(text)
        return EVERYTHING if found is None else found.bounds

    def loops_of(self, parts: Iterable[Polynomial | Formula]) -> Loops:
        """Return the loops in whose turns one of `parts` differs."""
        found: set[Operation] = set()
        for part in parts:
            for text in part.names if isinstance(part, Polynomial) else names_of(part):
                if text in self.known:
                    found |= self.known[text].loops
        return frozenset(found)

    def is_sure(self, formula: Formula) -> bool:
        """Return whether a formula always holds: by intervals first, then by the solver."""
        if formula == TRUE:
            return True
        if formula == FALSE:
            return False
        if formula not in self._sure:
            is_within = self.is_within(formula)
            if not is_within and self.prove is None:  # the contract is not read to its end
                return False
            self._sure[formula] = is_within or (self.prove is not None and self.prove(formula))
        if self._sure[formula]:
            self._needs.append(formula)
        return self._sure[formula]

    def is_within(self, formula: Formula) -> bool:
        """Return whether an inequality holds by the bounds of its names alone."""
        return (
            isinstance(formula, AtLeastZero) and formula.polynomial.interval(self.interval)[0] >= 0
        )

    def decides(self, formula: Formula) -> bool:
        """Return whether a formula always holds, where a value is then said without a name."""
        found = self.is_sure(formula)
        if found and formula != TRUE:
            self.decided[formula] = None
        return found

    def _define(
        self,
        key: tuple[object, ...],
        make: Callable[[], tuple[str, Interval, list[Formula]] | Polynomial],
        parts: Sequence[Polynomial | Formula],
    ) -> Polynomial:
        """Return the name that `key` defines; `make` says of what kind it is, and its facts."""
        if key not in self._defined:
            outer, self._needs = self._needs, []
            made = make()
            if not isinstance(made, Polynomial):
                kind, bounds, facts = made
                text = self.fresh(kind, bounds, loops=self.loops_of(parts))
                self.known[text].facts = [replaced(fact, "#", name(text)) for fact in facts]
                self.known[text].needs = tuple(dict.fromkeys(self._needs))
                made = name(text)
            self._defined[key] = made
            self._needs = outer
        return self._defined[key]

    def either(self, condition: Formula, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return `a` where `condition` holds, `b` elsewhere."""
        if a == b or condition == TRUE:
            return a
        if condition == FALSE:
            return b

        def make() -> tuple[str, Interval, list[Formula]]:
            ends = [a.interval(self.interval), b.interval(self.interval)]
            bounds = min(e[0] for e in ends), max(e[1] for e in ends)
            chosen = either(
                both(condition, equal(ITSELF, a)), both(opposite(condition), equal(ITSELF, b))
            )
            return "choice", bounds, [chosen]

        return self._define(("either", condition, a, b), make, (condition, a, b))

    def smaller(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the minimum."""
        return self._extreme(a, b, smallest=True)

    def larger(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return the maximum."""
        return self._extreme(a, b, smallest=False)

    def _extreme(self, a: Polynomial, b: Polynomial, *, smallest: bool) -> Polynomial:
        if a.constant is not None and b.constant is not None:
            return lift((min if smallest else max)(a.constant, b.constant))

        def make() -> tuple[str, Interval, list[Formula]] | Polynomial:
            if self.decides(at_least(a, b)):
                return b if smallest else a
            if self.decides(at_least(b, a)):
                return a if smallest else b
            ends = [a.interval(self.interval), b.interval(self.interval)]
            of = min if smallest else max
            bounds = of(e[0] for e in ends), of(e[1] for e in ends)
            order = (
                [at_least(a, ITSELF), at_least(b, ITSELF)]
                if smallest
                else [at_least(ITSELF, a), at_least(ITSELF, b)]
            )
            facts = [*order, either(equal(ITSELF, a), equal(ITSELF, b))]
            return "min" if smallest else "max", bounds, facts

        return self._define(("extreme", a, b, smallest), make, (a, b))

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
        is_positive = self.is_sure(at_least(b, 1))
        is_natural = is_positive and self.is_sure(at_least(a))
        rounding = "natural" if is_natural else "down" if floor else "to zero"

        def make() -> tuple[str, Interval, list[Formula]]:
            # asked again, so that they are noted as what this name needs
            self.is_sure(at_least(b, 1))
            self.is_sure(at_least(a))
            down = [at_least(a, b * ITSELF), at_least(b * ITSELF + b - 1, a)]
            if is_natural:
                return "quotient", self._quotient_bounds(a, b), [*down, at_least(ITSELF)]
            if is_positive and floor:
                return "quotient", self._quotient_bounds(a, b), down
            up = [at_least(b * ITSELF, a), at_least(a, b * ITSELF - b + 1), at_least(-ITSELF)]
            of_negative = both(*down) if floor else both(*up)
            facts = either(
                both(at_least(b, 1), at_least(a), *down, at_least(ITSELF)),
                both(at_least(b, 1), at_least(-1, a), of_negative),
                at_least(0, b) if floor else both(at_least(0, b), _by_negative(a, b)),
            )
            size = max(map(abs, a.interval(self.interval)))
            bounds = (-size, size) if is_positive else EVERYTHING
            return "quotient", bounds, [facts]

        made = self._define(("quotient", a, b, rounding), make, (a, b))
        if is_natural:
            [text] = made.names
            self.quotients[text] = a, b
        return made

    def _quotient_bounds(self, a: Polynomial, b: Polynomial) -> Interval:
        (low, high), (least, most) = a.interval(self.interval), b.interval(self.interval)
        divisor = max(least, 1)
        bottom = -INFINITY if low == -INFINITY else low // divisor
        if low >= 0:
            bottom = low // most if most < INFINITY else 0
        top = INFINITY if high == INFINITY else high // divisor if high >= 0 else -1
        return bottom, top

    def remainder(self, a: Polynomial, b: Polynomial, *, floor: bool) -> Polynomial:
        """Return what a division leaves: a name of its own, so that its bounds are facts."""
        q = self.quotient(a, b, floor=floor)
        if q.constant is not None:
            return a - b * q

        def make() -> tuple[str, Interval, list[Formula]]:
            facts = list(conjuncts(equal(ITSELF, a - b * q)))
            is_usual = self.is_sure(at_least(b, 1)) and (floor or self.is_sure(at_least(a)))
            if not is_usual:
                return "remainder", EVERYTHING, facts
            high = b.interval(self.interval)[1] - 1
            facts += [at_least(ITSELF), at_least(b, ITSELF + 1)]
            if self.is_sure(at_least(a)):
                facts.append(at_least(a, ITSELF))
            return "remainder", (0, high), facts

        return self._define(("remainder", a, b, floor), make, (a, b, q))


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
