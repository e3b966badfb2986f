"""Bit-vectors as mathematical integers, for a solver of linear arithmetic.

A sum that cannot leave its type is the sum of the integers; another one is that, less a multiple of
2^32 that brings it back into its type. What is not known here may be any number of its type. So a
question without a solution in integers has none in bits; a solution may be none of the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import z3
from z3 import BoolRef as Bool

from compiler.recheck.bit_ranges import Ranges
from compiler.recheck.integer_products import Products
from compiler.recheck.numbers import (
    FALSE,
    TRUE,
    Number,
    all_of,
    chosen,
    compared,
    equal,
    implied,
    known,
    minus,
    named,
    negated,
    plus,
    scaled,
    some_of,
    term_of,
    within,
)

Known: TypeAlias = "Number | Bool"
"""A number, or a truth value: of a formula, and of one bit."""


@dataclass
class IntegerForm:
    """The integers of some formulas. `facts` are what is true of those that it names."""

    ranges: Ranges
    facts: list[Bool] = field(default_factory=list)
    products: Products = field(default_factory=Products)
    constants: list[tuple[z3.ExprRef, z3.ExprRef]] = field(default_factory=list)
    """The bit-vectors that are no operation's result, and these as integers or truth values."""
    _known: dict[int, tuple[z3.ExprRef, Known]] = field(default_factory=dict)
    _naturals: dict[int, Number] = field(default_factory=dict)
    """Terms that are no operation's result, by their numbers, as unsigned integers."""
    _quotients: dict[tuple[int, int], tuple[z3.ArithRef, Number]] = field(default_factory=dict)
    """Quotients by the numbers of their terms, so that what is equal has one name."""
    _divisions: dict[tuple[int, int, tuple[int, int]], tuple[Number, Number, Number, Number]] = (
        field(default_factory=dict)
    )
    _names: int = 0

    def formula(self, formula: Bool) -> Bool:
        """Return what holds of the integers wherever `formula` does. Raises TooManyProducts."""
        pending: list[z3.ExprRef] = [formula]
        while pending:
            term = pending[-1]
            parts = term.children()
            missing = [part for part in parts if part.get_id() not in self._known]
            if missing:
                pending += missing
                continue
            pending.pop()
            if term.get_id() not in self._known:
                made = self._made(term, [self._known[part.get_id()][1] for part in parts])
                self._known[term.get_id()] = term, made
        made = self._known[formula.get_id()][1]
        assert not isinstance(made, Number)
        return made

    def _made(self, term: z3.ExprRef, parts: list[Known]) -> Known:
        if not z3.is_bv(term):
            return self._truth(term, parts)
        if term.size() == 1:
            return self._bit(term, parts)
        made = self._integer(term, parts)
        if made is None:
            return self._any_integer(term)
        return made if isinstance(made.term, int) else within(made, *self.ranges.of(term))

    def _any_integer(self, term: z3.BitVecRef) -> Number:
        """Return any number of a type. Most are only used without their sign."""
        bits = term.size()
        half, full = 1 << (bits - 1), 1 << bits
        if term.num_args():
            return self._named(*self.ranges.of(term))
        natural = self._naturals[term.get_id()] = self._named(0, full - 1)
        self.constants.append((term, term_of(natural)))
        is_natural = compared(natural, known(half), is_strict=True)
        return within(chosen(is_natural, natural, minus(natural, known(full))), -half, half - 1)

    def _truth(self, term: Bool, parts: list[Known]) -> Bool:
        kind = term.decl().kind()
        if z3.is_true(term) or z3.is_false(term):
            return term
        if kind in _OF_TRUTHS:
            return _OF_TRUTHS[kind](_truths(parts))
        if kind in (z3.Z3_OP_EQ, z3.Z3_OP_DISTINCT) and len(parts) == 2:
            same = _same(*parts)
            return same if kind == z3.Z3_OP_EQ else negated(same)
        if kind in _ORDERS and term.arg(0).size() > 1:
            swaps, is_strict, is_unsigned = _ORDERS[kind]
            bits = term.arg(0).size()
            a, b = (
                self._unsigned(number, bits) if is_unsigned else number
                for number in _numbers(parts)
            )
            return (
                compared(b, a, is_strict=is_strict)
                if swaps
                else compared(a, b, is_strict=is_strict)
            )
        return self._any_truth(term)

    def _any_truth(self, term: z3.ExprRef) -> Bool:
        self._names += 1
        made = z3.Bool(f"t.{self._names}")
        if term.num_args() == 0:
            self.constants.append((term, made))
        return made

    def _bit(self, term: z3.BitVecRef, parts: list[Known]) -> Bool:
        """Return whether the only bit of a term is 1."""
        kind = term.decl().kind()
        if z3.is_bv_value(term):
            return TRUE if term.as_long() == 1 else FALSE
        if kind in _OF_BITS:
            return _OF_BITS[kind](_truths(parts))
        if kind == z3.Z3_OP_ITE:
            condition, a, b = _truths(parts)
            return condition if z3.is_true(a) and z3.is_false(b) else z3.If(condition, a, b)
        return self._any_truth(term)

    def _integer(self, term: z3.BitVecRef, parts: list[Known]) -> Number | None:
        """Return a signed number of at least two bits; None where it may be any."""
        if z3.is_bv_value(term):
            return known(term.as_signed_long())
        kind = term.decl().kind()
        if kind == z3.Z3_OP_ITE:
            condition, a, b = parts
            return chosen(_truths([condition])[0], *_numbers([a, b]))
        if kind == z3.Z3_OP_SIGN_EXT:
            return _extended(parts[0], -1)
        if kind == z3.Z3_OP_ZERO_EXT or (kind == z3.Z3_OP_CONCAT and _is_zero_extended(term)):
            last = term.arg(term.num_args() - 1)
            natural = self._naturals.get(last.get_id())
            return natural or self._unsigned(parts[-1], last.size())
        if not parts or any(not isinstance(part, Number) for part in parts):
            return None
        return self._computed(term, _numbers(parts))

    def _computed(self, term: z3.BitVecRef, numbers: Sequence[Number]) -> Number | None:
        """Return what an operation makes of numbers."""
        kind, bits = term.decl().kind(), term.size()
        if kind in (z3.Z3_OP_BADD, z3.Z3_OP_BSUB, z3.Z3_OP_BMUL):
            made = numbers[0]
            for other in numbers[1:]:
                made = self._combined(kind, made, other)
            return self._wrapped(made, bits)
        if kind == z3.Z3_OP_BNEG:
            return self._wrapped(minus(known(0), numbers[0]), bits)
        if kind == z3.Z3_OP_EXTRACT:
            high, low = term.params()
            return self._wrapped(self._floor(numbers[0], 1 << low), high - low + 1)
        if kind in _QUOTIENTS or kind in _RESTS:
            return self._divided(kind, numbers[0], numbers[1], bits)
        return self._by_constant(kind, numbers, bits) if len(numbers) == 2 else None

    def _combined(self, kind: int, a: Number, b: Number) -> Number:
        if kind == z3.Z3_OP_BADD:
            return plus(a, b)
        if kind == z3.Z3_OP_BSUB:
            return minus(a, b)
        if isinstance(a.term, int) or isinstance(b.term, int):
            return scaled(b, a.term) if isinstance(a.term, int) else scaled(a, int(b.term))
        return self.products.of(a, b)

    def _by_constant(self, kind: int, numbers: Sequence[Number], bits: int) -> Number | None:
        """Return a shift or the lowest bits, where the second operand is known."""
        a, by = numbers[0], numbers[1].term
        if not isinstance(by, int):
            return None
        if kind == z3.Z3_OP_BSHL and 0 <= by < bits:
            return self._wrapped(scaled(a, 1 << by), bits)
        if kind == z3.Z3_OP_BASHR and 0 <= by < bits:
            return self._floor(a, 1 << by)
        if kind == z3.Z3_OP_BLSHR and 0 <= by < bits:
            return self._wrapped(self._floor(self._unsigned(a, bits), 1 << by), bits)
        if kind == z3.Z3_OP_BAND and by >= 0 and by & (by + 1) == 0:
            return within(minus(a, scaled(self._floor(a, by + 1), by + 1)), 0, by)
        return None

    def _divided(self, kind: int, a: Number, b: Number, bits: int) -> Number:
        """Return a quotient or a rest, of which nothing is known where the divisor is below 1."""
        half = 1 << (bits - 1)
        ends = -half, half - 1
        if kind in _OF_UNSIGNED:
            a, b, ends = self._unsigned(a, bits), self._unsigned(b, bits), (0, 2 * half - 1)
        if isinstance(b.term, int) and b.term >= 1 and a.low >= 0:
            whole = self._floor(a, b.term)
            rest = within(minus(a, scaled(whole, b.term)), 0, min(b.term - 1, a.high))
        else:
            whole, rest = self._division(a, b, ends)
        return self._wrapped(whole if kind in _QUOTIENTS else rest, bits)

    def _division(self, a: Number, b: Number, ends: tuple[int, int]) -> tuple[Number, Number]:
        """Return a quotient and the rest, rounded to zero, or anything between ends."""
        a, b = (Number(z3.simplify(term_of(number)), number.low, number.high) for number in (a, b))
        key = term_of(a).get_id(), term_of(b).get_id(), ends
        if key not in self._divisions:
            self._divisions[key] = a, b, *self._new_division(a, b, ends)
        *_, whole, rest = self._divisions[key]
        return whole, rest

    def _new_division(self, a: Number, b: Number, ends: tuple[int, int]) -> tuple[Number, Number]:
        zero = known(0)
        is_usual = compared(known(1), b, is_strict=False)
        if z3.is_true(is_usual):
            whole = self._named(min(a.low, 0), max(a.high, 0))
            rest = self._named(0 if a.low >= 0 else 1 - b.high, min(b.high - 1, max(a.high, 0)))
        else:
            whole, rest = self._named(*ends), self._named(*ends)
        product = self._combined(z3.Z3_OP_BMUL, whole, b)
        is_natural = compared(zero, a, is_strict=False)
        natural = [compared(zero, number, is_strict=False) for number in (whole, rest)]
        negative = [compared(number, zero, is_strict=False) for number in (whole, rest)]
        sized = compared(rest, b, is_strict=True), compared(minus(zero, b), rest, is_strict=True)
        self.facts += implied(is_usual, all_of([equal(plus(product, rest), a), *sized]))
        self.facts += implied(all_of([is_usual, is_natural]), all_of(natural))
        self.facts += implied(all_of([is_usual, negated(is_natural)]), all_of(negative))
        return whole, rest

    def _named(self, low: int, high: int) -> Number:
        self._names += 1
        made = named(f"i.{self._names}", low, high)
        self.facts += [term_of(made) >= low, term_of(made) <= high]
        return made

    def _unsigned(self, value: Known, bits: int) -> Number:
        """Return what the bits of a signed number are as an unsigned one."""
        if not isinstance(value, Number):
            return _extended(value, 1)
        if value.low >= 0:
            return value
        more = plus(value, known(1 << bits))
        made = chosen(compared(value, known(0), is_strict=True), more, value)
        return within(made, 0, (1 << bits) - 1)

    def _wrapped(self, value: Number, bits: int) -> Number:
        """Return what integers of a type have of a number."""
        half, full = 1 << (bits - 1), 1 << bits
        if -half <= value.low and value.high < half:
            return value
        if isinstance(value.term, int):
            return known((value.term + half) % full - half)
        times = self._named((value.low + half) // full, (value.high + half) // full)
        made = value.term - full * term_of(times)
        self.facts += [made >= -half, made < half]
        return Number(made, -half, half - 1)

    def _floor(self, value: Number, divisor: int) -> Number:
        """Return a quotient that is rounded down."""
        low, high = value.low // divisor, value.high // divisor
        if divisor == 1 or low == high:
            return value if divisor == 1 else known(low)
        term = z3.simplify(term_of(value))
        key = term.get_id(), divisor
        if key not in self._quotients:
            made = self._named(low, high)
            rest = term - divisor * term_of(made)
            self.facts += [rest >= 0, rest < divisor]
            self._quotients[key] = term, made
        return within(self._quotients[key][1], low, high)


def _numbers(parts: Sequence[Known]) -> list[Number]:
    made = [part for part in parts if isinstance(part, Number)]
    assert len(made) == len(parts)
    return made


def _truths(parts: Sequence[Known]) -> list[Bool]:
    made = [part for part in parts if not isinstance(part, Number)]
    assert len(made) == len(parts)
    return made


def _same(a: Known, b: Known) -> Bool:
    if isinstance(a, Number) and isinstance(b, Number):
        return equal(a, b)
    [a, b] = _truths([a, b])
    if z3.is_true(a) or z3.is_false(a):
        a, b = b, a
    if z3.is_true(b) or z3.is_false(b):
        return a if z3.is_true(b) else negated(a)
    return a == b


def _extended(value: Known, true: int) -> Number:
    """Return a number, and a truth value as 0 or `true`."""
    return value if isinstance(value, Number) else chosen(value, known(true), known(0))


def _is_zero_extended(term: z3.BitVecRef) -> bool:
    first = term.arg(0)
    return bool(term.num_args() == 2 and z3.is_bv_value(first) and first.as_long() == 0)


_OF_TRUTHS: Mapping[int, Callable[[Sequence[Bool]], Bool]] = {
    z3.Z3_OP_AND: all_of,
    z3.Z3_OP_OR: some_of,
    z3.Z3_OP_NOT: lambda parts: negated(parts[0]),
    z3.Z3_OP_IMPLIES: lambda parts: some_of([negated(parts[0]), parts[1]]),
    z3.Z3_OP_XOR: lambda parts: z3.Xor(*parts),
    z3.Z3_OP_ITE: lambda parts: z3.If(*parts),
}
_OF_BITS: Mapping[int, Callable[[Sequence[Bool]], Bool]] = {
    z3.Z3_OP_BAND: all_of,
    z3.Z3_OP_BOR: some_of,
    z3.Z3_OP_BNOT: lambda parts: negated(parts[0]),
}
_ORDERS = {
    z3.Z3_OP_SLEQ: (False, False, False), z3.Z3_OP_SLT: (False, True, False),
    z3.Z3_OP_SGEQ: (True, False, False), z3.Z3_OP_SGT: (True, True, False),
    z3.Z3_OP_ULEQ: (False, False, True), z3.Z3_OP_ULT: (False, True, True),
    z3.Z3_OP_UGEQ: (True, False, True), z3.Z3_OP_UGT: (True, True, True),
}  # fmt: skip
"""True where the sides are swapped, the order is strict, the numbers are unsigned."""
_QUOTIENTS = (z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I, z3.Z3_OP_BSDIV, z3.Z3_OP_BSDIV_I)
_RESTS = (z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I, z3.Z3_OP_BSREM, z3.Z3_OP_BSREM_I)
_OF_UNSIGNED = (z3.Z3_OP_BUDIV, z3.Z3_OP_BUDIV_I, z3.Z3_OP_BUREM, z3.Z3_OP_BUREM_I)
