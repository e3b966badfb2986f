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
from dataclasses import dataclass, field

from compiler.proof.grounds import Ground, derived
from compiler.proof.logic import AtLeastZero, Formula, at_least, polynomials
from compiler.proof.polynomial import Interval, Monomial, Polynomial, lift, name
from compiler.proof.proof_limits import ProofLimitReached

Inequalities = dict[Polynomial, Ground]
"""Polynomials that are at least 0, each with the reason why."""

MAX_PRODUCTS = 500
MAX_MADE = 20_000
"""Products that are kept, so that another place need not make them again."""
_MAX_DIRECTED_TERMS = 6
_MAX_FACTOR_TERMS = 12
_MAX_FACTOR_DEGREE = 2
_MAX_PRODUCT_DEGREE = 3


@dataclass(frozen=True)
class MadeProducts:
    """Products of polynomials, which many places of one kernel need."""

    _formulas: dict[tuple[Polynomial, Polynomial], Formula] = field(default_factory=dict)
    _monomials: dict[tuple[Polynomial, Polynomial], frozenset[Monomial]] = field(
        default_factory=dict
    )

    def formula(self, a: Polynomial, b: Polynomial) -> Formula:
        """Return that `a * b` is at least 0, divided by the common factor of its coefficients."""
        key = a, b
        made = self._formulas.get(key)
        if made is None:
            if len(self._formulas) >= MAX_MADE:
                self._formulas.clear()
            made = self._formulas[key] = at_least(a * b)
        return made

    def monomials(self, a: Polynomial, b: Polynomial) -> frozenset[Monomial]:
        """Return the monomials of more than one factor that `a * b` may bring."""
        key = a, b
        made = self._monomials.get(key)
        if made is None:
            if len(self._monomials) >= MAX_MADE:
                self._monomials.clear()
            products = (tuple(sorted(m + n)) for m in a.terms for n in b.terms)
            made = self._monomials[key] = frozenset(
                monomial for monomial in products if len(monomial) > 1
            )
        return made


@dataclass(frozen=True)
class Multiplier:
    """Makes products of inequalities over names with these intervals and quotients."""

    interval: Callable[[str], Interval]
    quotients: Mapping[str, tuple[Polynomial, Polynomial]]
    natural: Callable[[str], Ground]
    """Returns why a name is at least 0."""
    products: MadeProducts = field(default_factory=MadeProducts)

    def digits(self, units: Mapping[Polynomial, Ground], names: AbstractSet[str]) -> Inequalities:
        """Return the bounds of digits: a // b <= e - 1 where a <= b * e - 1."""
        inequalities: Inequalities = {}
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
                        inequalities[_polynomial(digit.formula)] = digit
                except ProofLimitReached:
                    continue
        return inequalities

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
                if any(self.interval(factor)[0] < 0 for factor in rest):
                    continue
                cofactors = [self.natural(factor) for factor in rest]
                for unit, why in by_name.get(x, ()):
                    if len(made) >= MAX_PRODUCTS:
                        return made
                    if unit.degree + len(rest) <= _MAX_PRODUCT_DEGREE + 1:
                        product = functools.reduce(product_of, cofactors, why)
                        made[_polynomial(product.formula)] = product
        return made

    def pairs(
        self, units: Mapping[Polynomial, Ground], wanted: AbstractSet[Monomial], made: Inequalities
    ) -> Inequalities:
        """Add products of two inequalities to `made`: those without new monomials first."""
        letters = {letter for monomial in wanted for letter in monomial}
        factors = [
            (unit, unit.degree, why)
            for unit, why in units.items()
            if unit.degree <= _MAX_FACTOR_DEGREE
            and len(unit.terms) <= _MAX_FACTOR_TERMS
            and unit.names & letters
        ]
        known = set(wanted)
        multiplied = set[int]()
        for spare in (0, 1):
            pairs = itertools.combinations_with_replacement(factors, 2)
            for number, ((a, degree, of_a), (b, other, of_b)) in enumerate(pairs):
                if len(made) >= MAX_PRODUCTS:
                    return made
                if degree + other > _MAX_PRODUCT_DEGREE or number in multiplied:
                    continue
                if len(self.products.monomials(a, b) - known) > spare:
                    continue
                multiplied.add(number)
                formula = self.products.formula(a, b)
                if not isinstance(formula, AtLeastZero):
                    continue
                polynomial = formula.polynomial
                if polynomial not in made and polynomial not in units:
                    made[polynomial] = derived(formula, of_a, of_b)
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
    inequalities: dict[str, list[tuple[Polynomial, Ground]]] = {}
    for unit, why in units.items():
        if len(unit.terms) <= _MAX_DIRECTED_TERMS:
            for monomial in unit.terms:
                if len(monomial) == 1:
                    inequalities.setdefault(monomial[0], []).append((unit, why))
    return inequalities


def product_of(a: Ground, b: Ground) -> Ground:
    """Return the product of two inequalities, divided by the common factor of its coefficients."""
    return derived(at_least(_polynomial(a.formula) * _polynomial(b.formula)), a, b)


def _polynomial(formula: Formula) -> Polynomial:
    """Return the polynomial of an inequality; 0 for what always holds."""
    if isinstance(formula, AtLeastZero):
        return formula.polynomial
    return next(polynomials(formula), lift(0))


def products_in(polynomials: Iterable[Polynomial]) -> set[Monomial]:
    """Return the monomials of more than one factor."""
    return {m for polynomial in polynomials for m in polynomial.terms if len(m) > 1}
