"""Products of integers as unknown numbers, with facts about each and about pairs.

Linear arithmetic has no products. What holds for all numbers that keep these statements holds for
the products as well: so a question that has no solution here has none at all.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

import z3
from z3 import BoolRef as Bool

from compiler.recheck.numbers import (
    Number,
    all_of,
    compared,
    corners,
    implied,
    named,
    scaled,
    term_of,
)

MAX_PRODUCTS = 60
_FACTORS = 2


class TooManyProducts(Exception):
    """Formulas have more products than their pairs are compared."""


@dataclass(frozen=True, eq=False)
class _Product:
    """`value` is what `x * y` is."""

    value: Number
    x: Number
    y: Number


@dataclass
class Products:
    """The products in some formulas."""

    _made: dict[tuple[int, int], _Product] = field(default_factory=dict)
    _also: list[_Product] = field(default_factory=list)
    """The same products, with a constant factor at the other one of their factors."""

    def of(self, x: Number, y: Number) -> Number:
        """Return the unknown that a product is. Raises TooManyProducts."""
        x, y = (_simple(number) for number in (x, y))
        for factor, other in ((x, y), (y, x)):
            times, base = _divided(factor)
            if times != 1:
                # `(8 * g) * n` grows with 8 * g, as `m * n` does with m
                value = scaled(self.of(base, other), times)
                self._also.append(_Product(value, _simple(scaled(other, times)), base))
                return value
        first, second = sorted(term_of(number).get_id() for number in (x, y))
        if (first, second) not in self._made:
            if len(self._made) == MAX_PRODUCTS:
                raise TooManyProducts
            value = named(f"product.{len(self._made)}", *corners(x, y))
            self._made[first, second] = _Product(value, x, y)
        return self._made[first, second].value

    def facts(self) -> list[Bool]:
        """Return what is true of all products."""
        products = list(self._made.values())
        facts = [fact for product in products for fact in _facts_of(product)]
        for a, b in combinations([*products, *self._also], 2):
            facts += _facts_of_pair(a, b)
        return facts

    def guess(self, model: z3.ModelRef) -> list[Bool]:
        """Return a factor of each product as a power of two, so that products are linear.

        A factor of several products comes first, else the smaller one.
        """
        uses = Counter(
            term_of(factor).get_id() for p in self._made.values() for factor in (p.x, p.y)
        )
        chosen: dict[int, int] = {}
        made: list[Bool] = []
        for product in self._made.values():
            ids = [term_of(factor).get_id() for factor in (product.x, product.y)]
            if not any(number in chosen for number in ids):
                _, value, which = min(
                    (-uses[number], _value(model, factor), which)
                    for which, (number, factor) in enumerate(
                        zip(ids, (product.x, product.y), strict=True)
                    )
                )
                chosen[ids[which]] = _rounded(value)
                made.append(term_of((product.x, product.y)[which]) == chosen[ids[which]])
            which = 0 if ids[0] in chosen else 1
            other = (product.y, product.x)[which]
            made.append(term_of(product.value) == chosen[ids[which]] * term_of(other))
        return made

    def learned(self, model: z3.ModelRef) -> list[Bool]:
        """Return what is true of the products near the numbers of a model, which it lacks."""
        made: list[Bool] = []
        for product in self._made.values():
            x, y, value = (_value(model, term) for term in (product.x, product.y, product.value))
            if value == x * y:
                continue
            a, b, whole = (term_of(term) for term in (product.x, product.y, product.value))
            made += [
                z3.Implies(a == x, whole == x * b),
                z3.Implies(b == y, whole == y * a),
            ]
            # on one side of both numbers the product is above its tangent, else below
            tangent = x * b + y * a - x * y
            above = z3.Or(z3.And(a >= x, b >= y), z3.And(a <= x, b <= y))
            below = z3.Or(z3.And(a >= x, b <= y), z3.And(a <= x, b >= y))
            made += [z3.Implies(above, whole >= tangent), z3.Implies(below, whole <= tangent)]
        return made


def _simple(number: Number) -> Number:
    return Number(z3.simplify(term_of(number)), number.low, number.high)


def _divided(number: Number) -> tuple[int, Number]:
    """Return the constant factor of a number, and what is left without it."""
    term = term_of(number)
    if not z3.is_mul(term) or term.num_args() != _FACTORS:
        return 1, number
    by, rest = term.children()
    if not z3.is_int_value(by) or by.as_long() < 1:
        return 1, number
    times = by.as_long()
    return times, Number(rest, -(-number.low // times), number.high // times)


def _value(model: z3.ModelRef, number: Number) -> int:
    value = model.eval(term_of(number), model_completion=True)
    assert isinstance(value, z3.IntNumRef)
    return int(value.as_long())


def _product(model: z3.ModelRef, product: _Product) -> int:
    return _value(model, product.x) * _value(model, product.y)


def _rounded(number: int) -> int:
    """Return the largest power of two up to a number; of a negative one, the same with its sign."""
    power = 1 << (abs(number).bit_length() - 1) if number else 0
    return power if number >= 0 else -power


def _facts_of(product: _Product) -> list[Bool]:
    x, y, value = product.x, product.y, product.value
    zero, unit = Number(0, 0, 0), Number(1, 1, 1)

    def at_least(a: Number, b: Number) -> Bool:
        return compared(b, a, is_strict=False)

    def less(a: Number, b: Number) -> Bool:
        return compared(a, b, is_strict=True)

    is_x, is_y = at_least(x, unit), at_least(y, unit)
    negative_x, negative_y = less(x, zero), less(y, zero)
    a, b, whole = (term_of(term) for term in (x, y, value))
    facts = [
        whole >= value.low,
        whole <= value.high,
        z3.Implies(z3.Or(a == 0, b == 0), whole == 0),
        z3.Implies(a == 1, whole == b),
        z3.Implies(b == 1, whole == a),
    ]
    facts += implied(all_of([is_x, is_y]), z3.And(whole >= a, whole >= b))
    facts += implied(all_of([negative_x, is_y]), whole <= a)
    facts += implied(all_of([is_x, negative_y]), whole <= b)
    facts += implied(all_of([negative_x, negative_y]), whole >= 1)
    return facts


def _facts_of_pair(a: _Product, b: _Product) -> list[Bool]:
    """Return what is true of products with a common factor: they grow with the other one."""
    made: list[Bool] = []
    for x, factor in ((a.x, a.y), (a.y, a.x)):
        for y, other in ((b.x, b.y), (b.y, b.x)):
            if not term_of(factor).eq(term_of(other)):
                continue
            is_natural = compared(Number(0, 0, 0), factor, is_strict=False)
            by, product_a, product_b = term_of(factor), term_of(a.value), term_of(b.value)
            made.append(z3.Implies(term_of(x) == term_of(y), product_a == product_b))
            made += implied(
                all_of([is_natural, compared(x, y, is_strict=True)]), product_a + by <= product_b
            )
            made += implied(
                all_of([is_natural, compared(y, x, is_strict=True)]), product_b + by <= product_a
            )
    return made
