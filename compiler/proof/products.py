"""Inequalities that follow from known ones by multiplying them, so that linear arithmetic suffices.

Each product of names becomes a name of its own. It is tied down by (1) each bound of x times what x
stands beside in a product, (2) pairs of known inequalities, where that brings few new products,
(3) mixed radix: from a <= b * e - 1 follows a // b <= e - 1. Each follows from the others, so what
is chosen is only a matter of speed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from compiler.proof.polynomial import Interval, Monomial, Polynomial, name
from compiler.proof.proof_limits import ProofLimitReached

Labels = frozenset[str]
Inequalities = dict[Polynomial, Labels]
"""Polynomials that are at least 0, with the statements that say so."""

MOST_PRODUCTS = 500
_MOST_DIRECTED_TERMS = 6
_MOST_FACTOR_TERMS = 12
_MOST_FACTOR_DEGREE = 2
_MOST_PRODUCT_DEGREE = 3


@dataclass(frozen=True)
class Multiplier:
    """Makes products of inequalities over names with these intervals and quotients."""

    interval: Callable[[str], Interval]
    quotients: Mapping[str, tuple[Polynomial, Polynomial]]

    def digits(self, units: Mapping[Polynomial, Labels], names: AbstractSet[str]) -> Inequalities:
        """Return the bounds of digits: a // b <= e - 1 where a <= b * e - 1."""
        found: Inequalities = {}
        for text in sorted(names & self.quotients.keys()):
            a, b = self.quotients[text]
            if b.constant is not None:
                continue
            for unit, labels in units.items():
                try:
                    e = (unit + a + 1).divided_by(b)
                except ProofLimitReached:
                    continue
                if e is not None:
                    found[e - 1 - name(text)] = labels
        return found

    def directed(
        self, units: Mapping[Polynomial, Labels], wanted: AbstractSet[Monomial]
    ) -> Inequalities:
        """Return each bound of x, times what x stands beside in a wanted product."""
        by_name = _by_name(units)
        made: Inequalities = {}
        for monomial in sorted(wanted, key=lambda m: (len(m), m)):
            for x in sorted(set(monomial)):
                rest = list(monomial)
                rest.remove(x)
                if any(self.interval(one)[0] < 0 for one in rest):
                    continue
                beside = Polynomial({tuple(rest): 1})
                for unit, labels in by_name.get(x, ()):
                    if len(made) >= MOST_PRODUCTS:
                        return made
                    if unit.degree + len(rest) <= _MOST_PRODUCT_DEGREE + 1:
                        made[unit * beside] = labels
        return made

    def pairs(
        self, units: Mapping[Polynomial, Labels], wanted: AbstractSet[Monomial], made: Inequalities
    ) -> Inequalities:
        """Add products of two inequalities to `made`: those without new monomials first."""
        letters = {one for monomial in wanted for one in monomial}
        factors = [
            (unit, labels)
            for unit, labels in units.items()
            if unit.degree <= _MOST_FACTOR_DEGREE
            and len(unit.terms) <= _MOST_FACTOR_TERMS
            and unit.names & letters
        ]
        known = set(wanted)
        for spare in (0, 1):
            for (a, of_a), (b, of_b) in itertools.combinations_with_replacement(factors, 2):
                if len(made) >= MOST_PRODUCTS:
                    return made
                if a.degree + b.degree > _MOST_PRODUCT_DEGREE or not _stays(a, b, known, spare):
                    continue
                product = a * b
                if product not in made and product not in units:
                    made[product] = of_a | of_b
            if spare == 0:
                known |= {m for product in made for m in product.terms if len(m) > 1}
        return made


def _by_name(
    units: Mapping[Polynomial, Labels],
) -> dict[str, list[tuple[Polynomial, Labels]]]:
    """Return short inequalities by the names that stand alone in them."""
    found: dict[str, list[tuple[Polynomial, Labels]]] = {}
    for unit, labels in units.items():
        if len(unit.terms) <= _MOST_DIRECTED_TERMS:
            for monomial in unit.terms:
                if len(monomial) == 1:
                    found.setdefault(monomial[0], []).append((unit, labels))
    return found


def _stays(a: Polynomial, b: Polynomial, known: AbstractSet[Monomial], spare: int) -> bool:
    """Return whether `a * b` brings at most `spare` monomials that are not known."""
    new: set[Monomial] = set()
    for m in a.terms:
        for n in b.terms:
            if len(m) + len(n) > 1:
                product = tuple(sorted(m + n)) if m and n else m or n
                if len(product) > 1 and product not in known and product not in new:
                    new.add(product)
                    if len(new) > spare:
                        return False
    return True


def products_in(polynomials: Iterable[Polynomial]) -> set[Monomial]:
    """Return the monomials of more than one factor."""
    return {m for polynomial in polynomials for m in polynomial.terms if len(m) > 1}
