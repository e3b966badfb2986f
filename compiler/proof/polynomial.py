"""Polynomials with integer coefficients over named unknowns. Immutable; bounded in size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from compiler.proof.proof_limits import ProofLimitReached

Monomial = tuple[str, ...]
"""Names, sorted; a name occurs as often as its power. () is the number 1."""
Bound = float
"""An integer, or an infinity."""
Interval = tuple[Bound, Bound]


class Values(Protocol):
    """Integers by name."""

    def __getitem__(self, name: str, /) -> int:
        """Return the value of a name."""
        ...


MAX_TERMS = 64
MAX_DEGREE = 6


class Polynomial:
    """A sum of monomials, each with a coefficient other than 0."""

    __slots__ = ("_hash", "_names", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms: dict[Monomial, int] = {m: c for m, c in terms.items() if c}
        self._hash: int | None = None
        self._names: frozenset[str] | None = None
        if len(self.terms) > MAX_TERMS:
            raise ProofLimitReached(f"an address or a mask has more than {MAX_TERMS} terms")

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __add__(self, other: Polynomial | int) -> Polynomial:
        made = dict(self.terms)
        for monomial, factor in lift(other).terms.items():
            made[monomial] = made.get(monomial, 0) + factor
        return Polynomial(made)

    def __neg__(self) -> Polynomial:
        return Polynomial({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        made = dict(self.terms)
        for monomial, factor in lift(other).terms.items():
            made[monomial] = made.get(monomial, 0) - factor
        return Polynomial(made)

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        other = lift(other)
        made: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                product = m if not n else n if not m else tuple(sorted(m + n))
                if len(product) > MAX_DEGREE:
                    raise ProofLimitReached(f"a product has more than {MAX_DEGREE} factors")
                made[product] = made.get(product, 0) + c * d
        return Polynomial(made)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: int) -> Polynomial:
        return lift(other) - self

    def __repr__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return it as a person writes it: `rows * stride - 1`."""
        parts: list[str] = []
        for monomial, factor in sorted(self.terms.items(), key=lambda item: -len(item[0])):
            size = abs(factor)
            words = [str(size)] if size != 1 or not monomial else []
            sign = " - " if factor < 0 else " + "
            if not parts:
                sign = "-" if factor < 0 else ""
            parts.append(sign + " * ".join([*words, *monomial]))
        return "".join(parts) or "0"

    @property
    def constant(self) -> int | None:
        """The number that this is, or None."""
        return None if any(self.terms) else self.terms.get((), 0)

    @property
    def names(self) -> frozenset[str]:
        """The unknowns in it."""
        if self._names is None:
            self._names = frozenset(name for monomial in self.terms for name in monomial)
        return self._names

    @property
    def degree(self) -> int:
        """The number of factors of its longest monomial."""
        return max(map(len, self.terms), default=0)

    def divided_by(self, other: Polynomial) -> Polynomial | None:
        """Return the exact quotient by a polynomial of one term, or None."""
        if len(other.terms) != 1:
            return None
        [(divisor, factor)] = other.terms.items()
        made: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            rest = list(monomial)
            for name in divisor:
                if name not in rest:
                    return None
                rest.remove(name)
            if coefficient % factor:
                return None
            made[tuple(rest)] = coefficient // factor
        return Polynomial(made)

    def value(self, values: Values) -> int:
        """Return its value where each name has a value."""
        return sum(
            factor * math.prod(values[name] for name in monomial)
            for monomial, factor in self.terms.items()
        )

    def interval(self, bounds: Callable[[str], Interval]) -> Interval:
        """Return the interval of its values, by interval arithmetic."""
        low: Bound = 0
        high: Bound = 0
        for monomial, factor in self.terms.items():
            ends = _product_interval(map(bounds, monomial))
            first, last = _times(factor, ends[0]), _times(factor, ends[1])
            low, high = low + min(first, last), high + max(first, last)
        return low, high

    def replaced(self, name: str, by: Polynomial) -> Polynomial:
        """Return the same with `by` in place of a name."""
        if name not in self.names:
            return self
        made = lift(0)
        for monomial, factor in self.terms.items():
            part = Polynomial({tuple(n for n in monomial if n != name): factor})
            for _ in range(monomial.count(name)):
                part = part * by
            made = made + part
        return made

    def renamed(self, table: Callable[[str], str]) -> Polynomial:
        """Return the same over other names."""
        return Polynomial(
            {tuple(sorted(map(table, monomial))): c for monomial, c in self.terms.items()}
        )


def _product_interval(intervals: Iterable[Interval]) -> Interval:
    low: Bound = 1
    high: Bound = 1
    for first, last in intervals:
        ends = [_times(x, y) for x in (low, high) for y in (first, last)]
        low, high = min(ends), max(ends)
    return low, high


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b  # an infinity times 0 is 0 here


def lift(value: Polynomial | int) -> Polynomial:
    """Return a number as a polynomial."""
    return value if isinstance(value, Polynomial) else Polynomial({(): value})


def name(text: str) -> Polynomial:
    """Return one unknown as a polynomial."""
    return Polynomial({(text,): 1})
