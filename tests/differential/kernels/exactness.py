"""Sums and products that are the same in any order, and orders that are total.

Only those are compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exact_numbers import Kind, Number, Rounded, Undefined


def check_exact_sum(kind: Kind, values: Sequence[Number]) -> None:
    """Raise `Undefined` unless a sum of floats is the same in any order, without any rounding."""
    if not kind.is_float:
        return
    if not all(math.isfinite(value) for value in values):
        raise Undefined("a sum of what is not finite")
    parts = [abs(Fraction(value)) for value in values if value != 0]
    if not parts:
        if len({math.copysign(1, value) for value in values}) > 1:
            raise Undefined("a sum of +0 and -0")
        return
    common = max(part.denominator for part in parts)
    whole = [int(part * common) for part in parts]
    unit = min(number & -number for number in whole)
    total = sum(whole)
    if total // unit >= 1 << kind.precision or Fraction(total, common) > Fraction(kind.largest):
        raise Rounded("a sum that depends on its order")


def _check_exact_product(kind: Kind, values: Sequence[Number]) -> None:
    if not kind.is_float:
        return
    if not all(math.isfinite(value) and value != 0 for value in values):
        raise Undefined("a product of zeros or of what is not finite")
    digits = 1
    up, down = 0, 0
    for value in values:
        part = abs(Fraction(value))
        digits *= (part.numerator // (part.numerator & -part.numerator)) * 1
        power = (part.numerator & -part.numerator).bit_length() - part.denominator.bit_length()
        up, down = up + max(power, 0), down + min(power, 0)
    least = kind.lowest + kind.precision
    if digits >= 1 << kind.precision or Fraction(digits) * 2**up > kind.largest or down < least:
        raise Rounded("a product that depends on its order")


def added_up(kind: Kind, values: Sequence[Number]) -> Number:
    check_exact_sum(kind, values)
    total: Number = values[0]
    for value in values[1:]:
        total = numbers.added(kind, total, value)
    return total


def multiplied_up(kind: Kind, values: Sequence[Number]) -> Number:
    _check_exact_product(kind, values)
    total: Number = values[0]
    for value in values[1:]:
        total = numbers.multiplied(kind, total, value)
    return total


def of_steps(make: Callable[[Kind, Number, Number], Number]) -> Callable[..., Number]:
    def all_of(kind: Kind, values: Sequence[Number]) -> Number:
        found = values[0]
        for value in values[1:]:
            found = make(kind, found, value)
        return found

    return all_of


def largest_of(kind: Kind, values: Sequence[Number]) -> Number:
    check_zeros(kind, values)
    return of_steps(numbers.larger)(kind, values)


def smallest_of(kind: Kind, values: Sequence[Number]) -> Number:
    check_zeros(kind, values)
    return of_steps(numbers.smaller)(kind, values)


def check_zeros(kind: Kind, values: Sequence[Number]) -> None:
    zeros = {math.copysign(1, value) for value in values if value == 0}
    if kind.is_float and len(zeros) > 1:
        raise Undefined("the larger of +0 and -0")


def check_nan(kind: Kind, row: Sequence[Number]) -> None:
    if kind.is_float and any(math.isnan(value) for value in row):
        raise Undefined("NaN in an order")


def check_order(kind: Kind, values: Sequence[Number]) -> None:
    """Raise `Undefined` where an order is not total."""
    if kind.is_float:
        if any(math.isnan(value) for value in values):
            raise Undefined("NaN in an order")
        if len({math.copysign(1, value) for value in values if value == 0}) > 1:
            raise Undefined("+0 and -0 in an order")
