"""Inequalities that follow from known ones by multiplying them, so that linear arithmetic suffices.

Each product of names becomes a new name. It is tied down by (1) each bound of x times the cofactor
of x in a product, (2) pairs of known inequalities, where that brings few new products,
(3) mixed radix: from a <= b * e - 1 follows a // b <= e - 1. Each follows from the others, so what
is chosen is only a matter of speed.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from compiler.proof.grounds import Ground, derived
from compiler.proof.logic import AtLeastZero, Formula, at_least, polynomials
from compiler.proof.polynomial import Interval, Monomial, Polynomial, lift, name
from compiler.proof.proof_limits import ProofLimitReached

Inequalities = dict[Polynomial, Ground]
"""Polynomials that are at least 0, each with the reason why."""

MAX_PRODUCTS = 500
_MAX_DIRECTED_TERMS = 6
_MAX_FACTOR_TERMS = 12
_MAX_FACTOR_DEGREE = 2
_MAX_PRODUCT_DEGREE = 3


@dataclass(frozen=True)
class Multiplier:
    """Makes products of inequalities over names with these intervals and quotients."""

    interval: Callable[[str], Interval]
    quotients: Mapping[str, tuple[Polynomial, Polynomial]]
    natural: Callable[[str], Ground]
    """Returns why a name is at least 0."""

    def digits(self, units: Mapping[Polynomial, Ground], names: AbstractSet[str]) -> Inequalities:
        """Return the bounds of digits: a // b <= e - 1 where a <= b * e - 1."""
        found: Inequalities = {}
        for text in sorted(names & self.quotients.keys()):
            a, b = self.quotients[text]
            if b.constant is not None:
                continue
            for unit, why in units.items():
                try:
                    rounded = _polynomial(at_least(a, b * name(text)))
                    e = (unit + a + 1).divided_by(b)
                    if e is not None and rounded in units:
                        digit = _digit(e - name(text), b, (why, units[rounded]))
                        found[_polynomial(digit.formula)] = digit
                except ProofLimitReached:
                    continue
        return found

    def directed(
        self, units: Mapping[Polynomial, Ground], wanted: AbstractSet[Monomial]
    ) -> Inequalities:
        """Return each bound of x, times the cofactor of x in a wanted product."""
        by_name = _by_name(units)
        made: Inequalities = {}
        for monomial in sorted(wanted, key=lambda m: (len(m), m)):
            for x in sorted(set(monomial)):
                rest = list(monomial)
                rest.remove(x)
                if any(self.interval(one)[0] < 0 for one in rest):
                    continue
                beside = [self.natural(one) for one in rest]
                for unit, why in by_name.get(x, ()):
                    if len(made) >= MAX_PRODUCTS:
                        return made
                    if unit.degree + len(rest) <= _MAX_PRODUCT_DEGREE + 1:
                        product = functools.reduce(product_of, beside, why)
                        made[_polynomial(product.formula)] = product
        return made

    def pairs(
        self, units: Mapping[Polynomial, Ground], wanted: AbstractSet[Monomial], made: Inequalities
    ) -> Inequalities:
        """Add products of two inequalities to `made`: those without new monomials first."""
        letters = {one for monomial in wanted for one in monomial}
        factors = [
            (unit, why)
            for unit, why in units.items()
            if unit.degree <= _MAX_FACTOR_DEGREE
            and len(unit.terms) <= _MAX_FACTOR_TERMS
            and unit.names & letters
        ]
        known = set(wanted)
        for spare in (0, 1):
            for (a, of_a), (b, of_b) in itertools.combinations_with_replacement(factors, 2):
                if len(made) >= MAX_PRODUCTS:
                    return made
                if a.degree + b.degree > _MAX_PRODUCT_DEGREE or not _stays(a, b, known, spare):
                    continue
                product = product_of(of_a, of_b)
                if not isinstance(product.formula, AtLeastZero):
                    continue
                polynomial = _polynomial(product.formula)
                if polynomial not in made and polynomial not in units:
                    made[polynomial] = product
            if spare == 0:
                known |= {m for product in made for m in product.terms if len(m) > 1}
        return made


def _digit(above: Polynomial, divisor: Polynomial, rounding: tuple[Ground, Ground]) -> Ground:
    """Return why a digit is below its end: else the divisor times what it is above is natural."""
    is_positive = Ground(at_least(divisor, 1), needs=frozenset([(at_least(divisor, 1), ())]))
    return derived(at_least(above, 1), is_positive, *rounding)


def _by_name(
    units: Mapping[Polynomial, Ground],
) -> dict[str, list[tuple[Polynomial, Ground]]]:
    """Return short inequalities by the names that are alone in them."""
    found: dict[str, list[tuple[Polynomial, Ground]]] = {}
    for unit, why in units.items():
        if len(unit.terms) <= _MAX_DIRECTED_TERMS:
            for monomial in unit.terms:
                if len(monomial) == 1:
                    found.setdefault(monomial[0], []).append((unit, why))
    return found


def product_of(a: Ground, b: Ground) -> Ground:
    """Return the product of two inequalities, divided by what its coefficients share."""
    return derived(at_least(_polynomial(a.formula) * _polynomial(b.formula)), a, b)


def _polynomial(formula: Formula) -> Polynomial:
    """Return the polynomial of an inequality; 0 for what always holds."""
    return next(polynomials(formula), lift(0))


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
