"""Integers with their ends, and truth values, of which many are known without a solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import z3
from z3 import BoolRef as Bool

TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)


@dataclass(frozen=True)
class Number:
    """An integer with its ends; `term` is a Python number where it is known."""

    term: z3.ArithRef | int
    low: int
    high: int


def known(number: int) -> Number:
    """Return a number that is known."""
    return Number(number, number, number)


def named(name: str, low: int, high: int) -> Number:
    """Return an unknown number. That it is between its ends is to be stated."""
    return Number(z3.Int(name), low, high)


def term_of(number: Number) -> z3.ArithRef:
    """Return a number as a term."""
    return z3.IntVal(number.term) if isinstance(number.term, int) else number.term


def plus(a: Number, b: Number) -> Number:
    """Return a sum."""
    return Number(a.term + b.term, a.low + b.low, a.high + b.high)


def minus(a: Number, b: Number) -> Number:
    """Return a difference."""
    return Number(a.term - b.term, a.low - b.high, a.high - b.low)


def scaled(a: Number, by: int) -> Number:
    """Return a number times a known one."""
    low, high = sorted((a.low * by, a.high * by))
    return Number(a.term * by, low, high)


def corners(a: Number, b: Number) -> tuple[int, int]:
    """Return the ends of a product."""
    every = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(every), max(every)


def within(number: Number, low: int, high: int) -> Number:
    """Return a number that is known to be between further ends."""
    return Number(number.term, max(number.low, low), min(number.high, high))


def compared(a: Number, b: Number, *, is_strict: bool) -> Bool:
    """Return whether `a < b`, or `a <= b`."""
    by = int(is_strict)
    if a.high + by <= b.low:
        return TRUE
    if a.low + by > b.high:
        return FALSE
    return term_of(a) < term_of(b) if is_strict else term_of(a) <= term_of(b)


def equal(a: Number, b: Number) -> Bool:
    """Return whether two numbers are the same."""
    if a.high < b.low or b.high < a.low:
        return FALSE
    if isinstance(a.term, int) and isinstance(b.term, int):
        return TRUE if a.term == b.term else FALSE
    return term_of(a) == term_of(b)


def chosen(condition: Bool, a: Number, b: Number) -> Number:
    """Return `a` where a condition holds, `b` elsewhere."""
    if z3.is_true(condition) or z3.is_false(condition):
        return a if z3.is_true(condition) else b
    made = z3.If(condition, term_of(a), term_of(b))
    return Number(made, min(a.low, b.low), max(a.high, b.high))


def negated(a: Bool) -> Bool:
    """Return whether a condition does not hold."""
    if z3.is_true(a) or z3.is_false(a):
        return FALSE if z3.is_true(a) else TRUE
    return z3.Not(a)


def all_of(parts: Iterable[Bool]) -> Bool:
    """Return whether all conditions hold."""
    left = [part for part in parts if not z3.is_true(part)]
    if any(z3.is_false(part) for part in left):
        return FALSE
    return TRUE if not left else left[0] if len(left) == 1 else z3.And(*left)


def some_of(parts: Iterable[Bool]) -> Bool:
    """Return whether some condition holds."""
    left = [part for part in parts if not z3.is_false(part)]
    if any(z3.is_true(part) for part in left):
        return TRUE
    return FALSE if not left else left[0] if len(left) == 1 else z3.Or(*left)


def implied(condition: Bool, fact: Bool) -> list[Bool]:
    """Return a fact that holds where a condition does; nothing where that is never."""
    if z3.is_false(condition):
        return []
    return [fact if z3.is_true(condition) else z3.Implies(condition, fact)]
