"""The operations of MLIR's dialects `arith` and `math` on integers, bit by bit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import z3
from z3 import BitVecRef as Bits

from compiler.recheck.bit_ranges import Ranges
from compiler.recheck.elements import FALSE, simplified, widened
from compiler.recheck.reader import ReadOperation
from compiler.recheck.widths import POINTER_BITS, bits_of

_NUMBER = re.compile(r"(?:dense<)?(-?\d+|true|false)>?(?:\s*:|$)", re.ASCII)
Made = tuple[Bits, z3.BoolRef]
"""A result, and the condition under which its type does not hold the mathematical result, or a
divisor is 0."""


def constant(operation: ReadOperation) -> Bits | None:
    """Return the integer of `value = 7 : i32` or `dense<7>`; None for several values."""
    match = _NUMBER.match(operation.text("value") or "")
    if match is None:
        return None
    number = int(match[1] == "true") if match[1] in ("true", "false") else int(match[1])
    return z3.BitVecVal(number, bits_of(operation.result_types[0].element))


@dataclass
class BitArithmetic:
    """Computes the integers of one program."""

    ranges: Ranges = field(default_factory=Ranges)

    def computed(self, operation: ReadOperation, operands: Sequence[Bits]) -> Made | None:
        """Return the result of an operation, None for an operation that is not known here."""
        name = operation.name
        width = bits_of(operation.result_types[0].element)
        if name == "arith.cmpi":
            a, b = operands
            is_true = _COMPARE[operation.integer("predicate")](a, b)
            return z3.If(is_true, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)), FALSE
        if name in _CASTS:
            made, wraps = _CASTS[name](operands[0], width)
        elif name in _ARITHMETIC:
            made, wraps = self.combined(name, operands[0], operands[1])
        elif name in _BINARY:
            made, wraps = self._binary(name, operands[0], operands[1])
        else:
            return None
        if all(z3.is_bv_value(operand) for operand in operands):
            made = z3.simplify(made)
        return made, FALSE if width == 1 else simplified(wraps)

    def combined(self, name: str, a: Bits, b: Bits) -> Made:
        """Return a sum, a difference or a product, and when it wraps."""
        width = a.size()
        (low, high), (least, most) = self.ranges.of(a), self.ranges.of(b)
        if name == "arith.muli":
            ends = [x * y for x in (low, high) for y in (least, most)]
        elif name == "arith.addi":
            ends = [low + least, high + most]
        else:
            ends = [low - most, high - least]
        needed = 1 + max(*ends, -min(ends) - 1, 0).bit_length()
        combine = _ARITHMETIC[name]
        if needed <= width or width == 1:
            return combine(a, b), FALSE
        # contracts have products of 64 bits, too: the solver then computes each once
        wide = max(needed, POINTER_BITS) if name == "arith.muli" else needed
        whole = combine(widened(a, wide), widened(b, wide))
        made = z3.Extract(width - 1, 0, whole) if name == "arith.muli" else combine(a, b)
        return made, widened(made, wide) != whole

    def _binary(self, name: str, a: Bits, b: Bits) -> Made:
        is_natural = self.ranges.of(a)[0] >= 0 and self.ranges.of(b)[0] >= 0
        if name in _OF_NATURALS and is_natural:
            return _OF_NATURALS[name](a, b), b == 0
        return _BINARY[name](a, b)


def _shift_left(a: Bits, b: Bits) -> Made:
    """Only a shift by a constant is a product; another one is about bits."""
    made = a << b
    is_product = z3.is_bv_value(b) and b.as_signed_long() >= 0
    return made, (made >> b) != a if is_product else FALSE


def _shift_right_unsigned(a: Bits, b: Bits) -> Made:
    made = z3.LShR(a, b)
    return made, made < 0


def _quotient(a: Bits, b: Bits) -> Made:
    return a / b, b < 1


def _rest(a: Bits, b: Bits) -> Made:
    return z3.SRem(a, b), b < 1


def _floor(a: Bits, b: Bits) -> Made:
    quotient, rest = a / b, z3.SRem(a, b)
    return z3.If(rest < 0, quotient - 1, quotient), b < 1


def _unsigned_quotient(a: Bits, b: Bits) -> Made:
    made = z3.UDiv(a, b)
    return made, z3.Or(b == 0, made < 0)


def _unsigned_rest(a: Bits, b: Bits) -> Made:
    made = z3.URem(a, b)
    return made, z3.Or(b == 0, made < 0)


def _truncate(a: Bits, width: int) -> Made:
    made = widened(a, width)
    return made, widened(made, a.size()) != a if a.size() > width else FALSE


def _zero_extend(a: Bits, width: int) -> Made:
    return z3.ZeroExt(width - a.size(), a), FALSE


def _absolute(a: Bits, _: int) -> Made:
    return z3.If(a < 0, -a, a), z3.And(a < 0, -a == a)


_COMPARE: Sequence[Callable[[Bits, Bits], z3.BoolRef]] = (
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
    z3.ULT,
    z3.ULE,
    z3.UGT,
    z3.UGE,
)
_CASTS: Mapping[str, Callable[[Bits, int], Made]] = {
    "arith.extsi": lambda a, width: (widened(a, width), FALSE),
    "arith.extui": _zero_extend,
    "arith.trunci": _truncate,
    "arith.index_cast": _truncate,
    "math.absi": _absolute,
}
_ARITHMETIC: Mapping[str, Callable[[Bits, Bits], Bits]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
}
_OF_NATURALS: Mapping[str, Callable[[Bits, Bits], Bits]] = {
    "arith.divsi": z3.UDiv,
    "arith.floordivsi": z3.UDiv,
    "arith.remsi": z3.URem,
}
"""Divisions that cost less where no operand is negative."""
_BINARY: Mapping[str, Callable[[Bits, Bits], Made]] = {
    "arith.shli": _shift_left,
    "arith.shrsi": lambda a, b: (a >> b, FALSE),
    "arith.shrui": _shift_right_unsigned,
    "arith.divsi": _quotient,
    "arith.remsi": _rest,
    "arith.floordivsi": _floor,
    "arith.divui": _unsigned_quotient,
    "arith.remui": _unsigned_rest,
    "arith.andi": lambda a, b: (a & b, FALSE),
    "arith.ori": lambda a, b: (a | b, FALSE),
    "arith.xori": lambda a, b: (a ^ b, FALSE),
    "arith.minsi": lambda a, b: (z3.If(a <= b, a, b), FALSE),
    "arith.maxsi": lambda a, b: (z3.If(a >= b, a, b), FALSE),
    "arith.minui": lambda a, b: (z3.If(z3.ULE(a, b), a, b), FALSE),
    "arith.maxui": lambda a, b: (z3.If(z3.UGE(a, b), a, b), FALSE),
}
