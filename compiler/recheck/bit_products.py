"""Products and quotients as unknown numbers, with what is true of each and of pairs.

Bits of a product take a solver long. What holds for all numbers that keep these statements holds
for the product as well: so a question that has no solution here has none at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import z3

from compiler.recheck.bit_ranges import Ranges

MOST_PRODUCTS = 60
_UNSIGNED = (z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I, z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I)
_RESTS = (z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I, z3.Z3_OP_BSREM, z3.Z3_OP_BSREM_I)
_DIVISIONS = (*_UNSIGNED, *_RESTS, z3.Z3_OP_BSDIV, z3.Z3_OP_BSDIV_I)


@dataclass(frozen=True, eq=False)
class _Product:
    """`value` is what `x * y` is, both of which may be sums of other products."""

    value: z3.BitVecRef
    x: z3.BitVecRef
    y: z3.BitVecRef
    low: int
    high: int
    factors: tuple[z3.BitVecRef, z3.BitVecRef] | None = None
    """`x` and `y` as they are; None for a quotient's product, which no formula has."""


@dataclass
class Abstraction:
    """Formulas without their products and quotients."""

    formulas: list[z3.BoolRef] = field(default_factory=list)
    products: list[_Product] = field(default_factory=list)
    _pairs: list[tuple[z3.BitVecRef, z3.BitVecRef]] = field(default_factory=list)

    def product(
        self,
        x: z3.BitVecRef,
        y: z3.BitVecRef,
        ends: tuple[int, int],
        name: str,
        factors: tuple[z3.BitVecRef, z3.BitVecRef] | None = None,
    ) -> z3.BitVecRef:
        """Return the unknown that a product is, which may be known already."""
        for one in self.products:
            if (one.x.eq(x) and one.y.eq(y)) or (one.x.eq(y) and one.y.eq(x)):
                return one.value
        value = z3.BitVec(name, x.size())
        self.products.append(_Product(value, x, y, *ends, factors))
        return value

    def guess(self, model: z3.ModelRef) -> list[z3.BoolRef]:
        """Return a factor of each product as a power of two, for which others are soon found.

        A factor of several products comes first, else the smaller one.
        """
        factors = [
            (term, inside)
            for one in self.products
            if one.factors is not None
            for term, inside in zip(one.factors, (one.x, one.y), strict=True)
        ]
        uses = Counter(inside.get_id() for _, inside in factors)
        made: dict[int, z3.BoolRef] = {}
        for pair in zip(factors[::2], factors[1::2], strict=True):
            if any(inside.get_id() in made for _, inside in pair):
                continue
            values = [model.eval(inside, model_completion=True) for _, inside in pair]
            _, which = min(
                ((-uses[inside.get_id()], values[at].as_long()), at)
                for at, (_, inside) in enumerate(pair)
            )
            made[pair[which][1].get_id()] = pair[which][0] == _rounded(values[which])
        return list(made.values())

    def learned(self, model: z3.ModelRef) -> list[z3.BoolRef]:
        """Return what is true of the products near the numbers of a model, which it lacks."""
        made = []
        for one in self.products:
            x, y, value = (
                model.eval(term, model_completion=True) for term in (one.x, one.y, one.value)
            )
            if z3.is_true(z3.simplify(value == x * y)):
                continue
            made += [
                z3.Implies(one.x == x, one.value == x * one.y),
                z3.Implies(one.y == y, one.value == one.x * y),
            ]
            if z3.is_true(z3.simplify(z3.And(x >= 0, y >= 0))):
                small = z3.And(one.x >= 0, one.y >= 0, one.x <= x, one.y <= y)
                large = z3.And(one.x >= x, one.y >= y)
                made.append(z3.Implies(small, one.value <= x * y))
                made.append(z3.Implies(large, one.value >= x * y))
        return made


def _rounded(number: z3.BitVecNumRef) -> z3.BitVecNumRef:
    """Return the largest power of two up to a number."""
    value = number.as_long()
    return z3.BitVecVal(1 << (value.bit_length() - 1) if value else 0, number.size())


def abstracted(formulas: Sequence[z3.BoolRef], ranges: Ranges) -> Abstraction | None:
    """Return formulas without their products; None where they have none, or too many."""
    made = Abstraction()
    terms = _products_in(formulas)
    if not terms or len(terms) > MOST_PRODUCTS:
        return None
    for number, term in enumerate(terms):
        _replace(made, term, number, ranges)
    known = [*_of_each(made.products), *_of_pairs(made.products)]
    substituted = [z3.substitute(one, *made._pairs) for one in (*formulas, *made.formulas, *known)]
    products = [
        replace(one, x=z3.substitute(one.x, *made._pairs), y=z3.substitute(one.y, *made._pairs))
        for one in made.products
    ]
    return Abstraction(substituted, products)


def has_products(formulas: Iterable[z3.BoolRef]) -> bool:
    """Return whether there is a product or a quotient in formulas."""
    return bool(_products_in(list(formulas)))


def _products_in(formulas: Sequence[z3.BoolRef]) -> list[z3.BitVecRef]:
    """Return products and quotients of two terms that are no numbers, inner ones first."""
    found: list[z3.BitVecRef] = []
    seen: set[int] = set()
    pending: list[tuple[z3.ExprRef, bool]] = [(one, False) for one in formulas]
    while pending:
        term, is_done = pending.pop()
        if is_done:
            found.append(term)
            continue
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if _is_hard(term):
            pending.append((term, True))
        pending += [(one, False) for one in term.children()]
    return found


def _is_hard(term: z3.ExprRef) -> bool:
    if term.num_args() != 2 or not z3.is_bv(term):
        return False
    a, b = term.children()
    if term.decl().kind() == z3.Z3_OP_BMUL:
        return not z3.is_bv_value(a) and not z3.is_bv_value(b)
    is_shift = z3.is_bv_value(b) and b.as_long().bit_count() == 1
    is_unsigned = term.decl().kind() in _UNSIGNED
    return term.decl().kind() in _DIVISIONS and not (is_shift and is_unsigned)


def _replace(made: Abstraction, term: z3.BitVecRef, number: int, ranges: Ranges) -> None:
    """Replace a product or a quotient by an unknown, if it does not wrap whatever its operands."""
    a, b = term.children()
    width = term.size()
    half = 1 << (width - 1)
    (low, high), (least, most) = ranges.of(a), ranges.of(b)
    if term.decl().kind() == z3.Z3_OP_BMUL:
        corners = [x * y for x in (low, high) for y in (least, most)]
        if -half <= min(corners) and max(corners) < half:
            x, y = z3.simplify(a), z3.simplify(b)
            ends = min(corners), max(corners)
            value = made.product(x, y, ends, f"product.{number}", (a, b))
            made._pairs.append((term, value))
        return
    if term.decl().kind() in _UNSIGNED and (low < 0 or least < 0):
        return
    whole = z3.BitVec(f"quotient.{number}", width)
    product = made.product(whole, z3.simplify(b), (min(low, 0), max(high, 0)), f"product.{number}")
    rest = a - product
    natural = z3.And(whole >= 0, whole <= a, rest >= 0, rest < b)
    negative = z3.And(whole <= 0, whole >= a, rest <= 0, rest > -b)
    made.formulas.append(z3.Implies(b >= 1, z3.If(a >= 0, natural, negative)))
    made._pairs.append((term, rest if term.decl().kind() in _RESTS else whole))


def _of_each(products: Sequence[_Product]) -> list[z3.BoolRef]:
    made = []
    for one in products:
        x, y, value = one.x, one.y, one.value
        made += [
            value >= one.low,
            value <= one.high,
            z3.Implies(z3.Or(x == 0, y == 0), value == 0),
            z3.Implies(x == 1, value == y),
            z3.Implies(y == 1, value == x),
            z3.Implies(z3.And(x >= 1, y >= 1), z3.And(value >= x, value >= y)),
            z3.Implies(z3.And(x < 0, y >= 1), value <= x),
            z3.Implies(z3.And(x >= 1, y < 0), value <= y),
            z3.Implies(z3.And(x < 0, y < 0), value >= 1),
        ]
    return made


def _of_pairs(products: Sequence[_Product]) -> list[z3.BoolRef]:
    """Return what is true of products with a common factor: they grow with the other one."""
    made = []
    for a, b in combinations(products, 2):
        if a.value.size() != b.value.size():
            continue
        for x, factor in ((a.x, a.y), (a.y, a.x)):
            for y, other in ((b.x, b.y), (b.y, b.x)):
                if not factor.eq(other):
                    continue
                is_natural = factor >= 0
                made += [
                    z3.Implies(x == y, a.value == b.value),
                    z3.Implies(z3.And(is_natural, x < y), a.value + factor <= b.value),
                    z3.Implies(z3.And(is_natural, x > y), b.value + factor <= a.value),
                ]
    return made
