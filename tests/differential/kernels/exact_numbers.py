"""Numbers of Triton's types, one at a time and from nothing: Python's integers and floats.

An integer is an `int`, an int1 a `bool`, a float a `float` that its type holds exactly. What the
type of a result cannot hold is wrapped or rounded here, by plain arithmetic.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction

Number = int | float


class Undefined(Exception):
    """No answer is the only right one, so a kernel that comes here is not compared."""


class Rounded(Undefined):
    """The answer depends on where and in which order it is rounded."""


@dataclass(frozen=True)
class Kind:
    """An element type. Of floats: bits of the significand, the least exponent, the largest one."""

    name: str
    short: str
    """Its name in signatures."""
    bits: int
    is_float: bool = False
    is_signed: bool = True
    precision: int = 0
    lowest: int = 0
    largest: float = 0.0

    @property
    def is_bool(self) -> bool:
        return self.bits == 1

    @property
    def is_int(self) -> bool:
        """Return True for an integer of 8 bits or more."""
        return not self.is_float and self.bits > 1

    @property
    def is_fp8(self) -> bool:
        return self.is_float and self.bits == 8

    @property
    def least(self) -> int:
        """The least integer."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def most(self) -> int:
        """The largest integer."""
        return (1 << (self.bits - self.is_signed)) - 1


KINDS = {
    kind.name: kind
    for kind in (
        Kind("int1", "i1", 1, is_signed=False),
        *(Kind(f"int{bits}", f"i{bits}", bits) for bits in (8, 16, 32, 64)),
        *(Kind(f"uint{bits}", f"u{bits}", bits, is_signed=False) for bits in (8, 16, 32, 64)),
        Kind("float16", "fp16", 16, True, True, 11, -24, 65504.0),
        Kind("bfloat16", "bf16", 16, True, True, 8, -133, (2 - 2**-7) * 2.0**127),
        Kind("float32", "fp32", 32, True, True, 24, -149, (2 - 2**-23) * 2.0**127),
        Kind("float64", "fp64", 64, True, True, 53, -1074, (2 - 2**-52) * 2.0**1023),
        Kind("float8e4nv", "fp8e4nv", 8, True, True, 4, -9, 448.0),
        Kind("float8e5", "fp8e5", 8, True, True, 3, -16, 57344.0),
    )
}


def wrapped(kind: Kind, value: int) -> Number:
    """Return the lowest bits of an integer as a number of `kind`."""
    if kind.is_bool:
        return bool(value & 1)
    value &= (1 << kind.bits) - 1
    return value - (1 << kind.bits) if value > kind.most else value


def unsigned(kind: Kind, value: Number) -> int:
    """Return the bits of an integer as a number that is not negative."""
    return int(value) & ((1 << kind.bits) - 1)


def rounded(kind: Kind, value: float | Fraction) -> float:
    """Return the nearest float of `kind`, of two the even one; infinite beyond the largest."""
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value) or value == 0):
        return value
    if isinstance(value, float) and kind.bits == 64:
        return value
    exact = Fraction(value)
    if exact == 0:
        return 0.0
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent += Fraction(2) ** exponent <= size  # now 2^(exponent-1) <= size < 2^exponent
    unit = Fraction(2) ** max(exponent - kind.precision, kind.lowest)
    near = round(size / unit) * unit
    found = math.inf if near > Fraction(kind.largest) else float(near)
    return -found if exact < 0 else found


def truncated(kind: Kind, value: float) -> float:
    """Return the nearest float of `kind` towards zero, at most the largest."""
    if not math.isfinite(value) or value == 0:
        return value
    near = rounded(kind, value)
    if math.isinf(near):
        return math.copysign(kind.largest, value)
    if abs(near) <= abs(value):
        return near
    found = from_bits(kind, to_bits(kind, near) - 1)  # one step nearer to zero
    return math.copysign(found, value)


def is_exact(kind: Kind, value: Fraction) -> bool:
    """Return whether `kind` has this number."""
    found = rounded(kind, value)
    return not math.isinf(found) and Fraction(found) == value


def to_bits(kind: Kind, value: Number) -> int:
    """Return the bits of a number."""
    if not kind.is_float:
        return unsigned(kind, value)
    value = float(value)
    if kind.name in _PACKED:
        return int(struct.unpack("<" + _PACKED[kind.name][0], _packed(kind, value))[0])
    if kind.name == "bfloat16":
        return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16
    bits = _FP8[kind.name]
    return bits.get((value, math.copysign(1.0, value)), 0x7F)


def from_bits(kind: Kind, bits: int) -> Number:
    """Return the number that has these bits."""
    if not kind.is_float:
        return wrapped(kind, bits)
    if kind.name in _PACKED:
        whole, part = _PACKED[kind.name]
        return float(struct.unpack("<" + part, struct.pack("<" + whole, bits))[0])
    if kind.name == "bfloat16":
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    return _fp8(kind, bits)


_PACKED = {"float16": ("H", "e"), "float32": ("I", "f"), "float64": ("Q", "d")}


def _packed(kind: Kind, value: float) -> bytes:
    return struct.pack("<" + _PACKED[kind.name][1], value)


def _fp8(kind: Kind, bits: int) -> float:
    digits = kind.precision - 1
    sign = -1.0 if bits & 0x80 else 1.0
    exponent, digit = (bits & 0x7F) >> digits, bits & ((1 << digits) - 1)
    if kind.name == "float8e4nv" and bits & 0x7F == 0x7F:
        return math.nan
    if kind.name == "float8e5" and exponent == 31:
        return math.nan if digit else sign * math.inf
    if exponent == 0:
        return sign * digit * 2.0**kind.lowest
    return sign * (digit + (1 << digits)) * 2.0 ** (kind.lowest + exponent - 1)


_FP8 = {
    name: {
        (value, math.copysign(1.0, value)): bits
        for bits in range(256)
        if not math.isnan(value := _fp8(KINDS[name], bits))
    }
    for name in ("float8e4nv", "float8e5")
}


def converted(source: Kind, target: Kind, value: Number) -> Number:
    """Return a number converted to another type, as `.to` does. Raises `Undefined`."""
    if target.is_bool:
        return value != 0
    if not source.is_float:
        return rounded(target, int(value)) if target.is_float else wrapped(target, int(value))
    if not target.is_float:
        if not math.isfinite(value) or not target.least <= int(value) <= target.most:
            raise Undefined("a float out of the range of an integer")
        return int(value)
    if target.is_fp8:
        if math.isinf(value) or math.isnan(value):
            raise Undefined("an infinity or NaN as fp8")
        near = rounded(target, value)
        return math.copysign(target.largest, value) if math.isinf(near) else near
    if source.is_fp8 and not math.isfinite(value):
        raise Undefined("an infinity or NaN of fp8")
    return rounded(target, float(value))


def added(kind: Kind, a: Number, b: Number) -> Number:
    return rounded(kind, a + b) if kind.is_float else wrapped(kind, int(a) + int(b))


def subtracted(kind: Kind, a: Number, b: Number) -> Number:
    return rounded(kind, a - b) if kind.is_float else wrapped(kind, int(a) - int(b))


def multiplied(kind: Kind, a: Number, b: Number) -> Number:
    return rounded(kind, a * b) if kind.is_float else wrapped(kind, int(a) * int(b))


def is_product_exact(kind: Kind, a: Number, b: Number) -> bool:
    """Return whether a product of floats needs no rounding."""
    if not math.isfinite(a) or not math.isfinite(b):
        return True
    return is_exact(kind, Fraction(a) * Fraction(b))


def divided(kind: Kind, a: Number, b: Number) -> Number:
    """Return a quotient of floats, or of integers cut off towards zero. Raises `Undefined`."""
    if not kind.is_float:
        a, b = int(a), int(b)
        if b == 0 or (kind.is_signed and b == -1 and a == kind.least):
            raise Undefined("an integer divided by zero, or the least one by -1")
        size = abs(a) // abs(b)
        return -size if (a < 0) != (b < 0) else size
    if b != 0 or math.isnan(a):
        return rounded(kind, a / b if b != 0 else a)
    if a == 0 or math.isnan(b):
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def remainder(kind: Kind, a: Number, b: Number) -> Number:
    """Return what division leaves, with the sign of `a`. Raises `Undefined`."""
    if not kind.is_float:
        return int(a) - int(divided(kind, a, b)) * int(b)
    if not (math.isfinite(a) and math.isfinite(b)) or b == 0:
        raise Undefined("a remainder of floats that are not finite")
    quotient = Fraction(a) / Fraction(b)
    near = rounded(kind, quotient)
    if math.isinf(near) or math.trunc(near) != math.trunc(quotient):
        raise Undefined("a remainder whose quotient is rounded to a whole number")
    return rounded(kind, Fraction(a) - math.trunc(quotient) * Fraction(b))


def shifted(kind: Kind, a: Number, by: Number, to: str) -> Number:
    """Return the bits moved; by the width or more, 0 or the sign is left."""
    distance = unsigned(kind, by) & 0xFFFFFFFF
    if to == "<<":
        return wrapped(kind, int(a) << distance) if distance < kind.bits else 0
    return int(a) >> min(distance, kind.bits)


def larger(kind: Kind, a: Number, b: Number) -> Number:
    """Return the larger one, not a NaN if there is another. Raises `Undefined` for +0 and -0."""
    if a == 0 and b == 0 and kind.is_float and math.copysign(1, a) != math.copysign(1, b):
        raise Undefined("the larger of +0 and -0")
    if kind.is_float and (math.isnan(a) or math.isnan(b)):
        return b if math.isnan(a) else a
    return max(a, b)


def smaller(kind: Kind, a: Number, b: Number) -> Number:
    """Return the smaller one, by the same rules."""
    if a == 0 and b == 0 and kind.is_float and math.copysign(1, a) != math.copysign(1, b):
        raise Undefined("the smaller of +0 and -0")
    if kind.is_float and (math.isnan(a) or math.isnan(b)):
        return b if math.isnan(a) else a
    return min(a, b)


def compared(a: Number, b: Number, sign: str) -> bool:
    """Return a comparison; NaN differs from all."""
    match sign:
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case "==":
            return a == b
    return a != b


def bitwise(kind: Kind, a: Number, b: Number, sign: str) -> Number:
    """Return `a & b`, `a | b` or `a ^ b`."""
    left, right = int(a), int(b)
    found = {"&": left & right, "|": left | right, "^": left ^ right}[sign]
    return wrapped(kind, found)


def fused(kind: Kind, a: Number, b: Number, c: Number) -> Number:
    """Return `a * b + c`, rounded once. Raises `Undefined` for non-finite numbers."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        raise Undefined("a fused product of what is not finite")
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        raise Undefined("the sign of a fused zero")
    return rounded(kind, exact)


def negated(kind: Kind, a: Number) -> Number:
    return -a if kind.is_float else wrapped(kind, -int(a))


def inverted(kind: Kind, a: Number) -> Number:
    return not a if kind.is_bool else wrapped(kind, ~int(a))


def size_of(kind: Kind, a: Number) -> Number:
    """Return the absolute value; that of the least integer is itself."""
    return abs(a) if kind.is_float else wrapped(kind, abs(int(a)))


def whole(kind: Kind, a: Number, name: str) -> Number:
    """Return `floor`, `ceil` or a root of a float. Raises `Undefined` for subnormal ones."""
    if name == "sqrt_rn":
        return math.nan if math.isnan(a) or a < 0 else rounded(kind, math.sqrt(a))
    if kind.name == "float32" and 0 < abs(a) < 2.0**-126:
        raise Undefined("a root or floor of a subnormal number")
    if not math.isfinite(a) or a == 0:
        return math.nan if name == "sqrt" and a < 0 else a
    if name == "sqrt":
        return math.nan if a < 0 else rounded(kind, math.sqrt(a))
    found = float(math.floor(a) if name == "floor" else math.ceil(a))
    return math.copysign(found, a)


def high_product(kind: Kind, a: Number, b: Number) -> Number:
    """Return the upper half of the product of the bits."""
    return wrapped(kind, (unsigned(kind, a) * unsigned(kind, b)) >> kind.bits)
