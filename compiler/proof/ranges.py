"""Intervals whose ends name the statements that they rest on: the largest size, or a grid.

Arithmetic keeps what each end needs, so a proof by bounds of derived names lists it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.proof.polynomial import Bound, Interval, Polynomial

Labels = frozenset[str]
NO_LABELS: Labels = frozenset()


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the largest value of something, each with its statements."""

    low: Bound
    high: Bound
    low_under: Labels = NO_LABELS
    high_under: Labels = NO_LABELS

    @property
    def interval(self) -> Interval:
        """Both ends."""
        return self.low, self.high

    @property
    def under(self) -> Labels:
        """The statements of both ends."""
        return self.low_under | self.high_under

    def between(self, low: Bound, high: Bound) -> Range:
        """Return other ends, for which both of these are needed."""
        return Range(low, high, self.under, self.under)

    def __or__(self, other: Range) -> Range:
        """Return the range of values that are in either."""
        return Range(
            min(self.low, other.low),
            max(self.high, other.high),
            self.low_under | other.low_under,
            self.high_under | other.high_under,
        )


def smaller(a: Range, b: Range) -> Range:
    """Return the range of a minimum."""
    least = a if a.high <= b.high else b
    return Range(min(a.low, b.low), least.high, a.low_under | b.low_under, least.high_under)


def larger(a: Range, b: Range) -> Range:
    """Return the range of a maximum."""
    most = a if a.low >= b.low else b
    return Range(most.low, max(a.high, b.high), most.low_under, a.high_under | b.high_under)


def range_of(polynomial: Polynomial, of_name: Callable[[str], Range]) -> Range:
    """Return the range of a polynomial's values, by interval arithmetic."""
    low: Bound = 0
    high: Bound = 0
    low_under, high_under = NO_LABELS, NO_LABELS
    for monomial, factor in polynomial.terms.items():
        part = Range(1, 1)
        for number, text in enumerate(monomial):
            part = _product(part, of_name(text)) if number else of_name(text)
        if factor < 0:
            part = Range(part.high, part.low, part.high_under, part.low_under)
        low, high = low + _times(factor, part.low), high + _times(factor, part.high)
        low_under, high_under = low_under | part.low_under, high_under | part.high_under
    return Range(low, high, low_under, high_under)


def _product(a: Range, b: Range) -> Range:
    under = a.under | b.under
    ends = [_times(x, y) for x in a.interval for y in b.interval]
    if a.low >= 0 and b.low >= 0:
        return Range(min(ends), max(ends), a.low_under | b.low_under, under)
    return Range(min(ends), max(ends), under, under)


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b  # an infinity times 0 is 0 here
