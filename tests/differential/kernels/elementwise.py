"""Operations that go lane by lane: arithmetic, bits, comparisons, choices and casts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exact_numbers import KINDS, Kind, Number, Rounded, Undefined
from tests.differential.kernels.operation import (
    Operation,
    Text,
    Value,
    call_text,
    infix_text,
    kind_text,
    number_text,
)
from tests.differential.kernels.tiles import (
    INT1,
    Node,
    Tile,
    check_unrounded,
    each,
)

_FP32 = KINDS["float32"]


def _binary(make: Callable[[Kind, Number, Number], Number]) -> Value:
    def value(node: Node, tiles: Sequence[Tile]) -> Tile:
        kind = tiles[0].kind
        return each(node.kind, node.shape, lambda a, b: make(kind, a, b), *tiles)

    return value


def _signed(make: Callable[[Kind, Number, Number, str], Number], sign: str) -> Value:
    return _binary(lambda kind, a, b: make(kind, a, b, sign))


def _shifted(sign: str) -> Value:
    def value(node: Node, tiles: Sequence[Tile]) -> Tile:
        first, by = (np.broadcast_to(tile.array, node.shape) for tile in tiles)
        if (first == by).all() and any(not 0 <= amount < node.kind.bits for amount in by.flat):
            raise Undefined("numbers shifted by themselves, which the compiler makes 0 of")
        kind = node.kind
        amount = by.flat[0]
        low = numbers.unsigned(kind, amount) & 0xFFFFFFFF
        if (by == amount).all() and low < kind.bits and low != amount:
            raise Undefined("a constant amount whose upper bits LLVM reads and PTX does not")
        return each(kind, node.shape, lambda a, b: numbers.shifted(kind, a, b, sign), *tiles)

    return value


def _float_remainder(node: Node, tiles: Sequence[Tile]) -> Tile:
    """Return the remainders; the compiler makes -0 of constants, and the GPU +0 of variables."""
    result = _binary(numbers.remainder)(node, tiles)
    of_one_number = all((tile.array == tile.array.flat[0]).all() for tile in tiles)
    if of_one_number and tiles[0].array.flat[0] < 0 and result.array.flat[0] == 0:
        raise Undefined("a remainder of 0 of a negative constant")
    return result


def _sum_or_difference(make: Callable[[Kind, Number, Number], Number]) -> Value:
    def value(node: Node, tiles: Sequence[Tile]) -> Tile:
        check_unrounded(*tiles)
        kind = node.kind
        return each(kind, node.shape, lambda a, b: make(kind, a, b), *tiles)

    return value


def _product(node: Node, tiles: Sequence[Tile]) -> Tile:
    kind = node.kind
    made = each(kind, node.shape, lambda a, b: numbers.multiplied(kind, a, b), *tiles)
    if not kind.is_float:
        return made
    exact = each(INT1, node.shape, lambda a, b: numbers.is_product_exact(kind, a, b), *tiles)
    return Tile(kind, made.array, not all(exact.array.flat))


def _precise_quotient(node: Node, tiles: Sequence[Tile]) -> Tile:
    kind = node.kind
    made = each(kind, node.shape, lambda a, b: numbers.divided(kind, a, b), *tiles)
    return Tile(kind, made.array)


def _quotient(node: Node, tiles: Sequence[Tile]) -> Tile:
    """Return quotients; fp16 and bf16 are divided in fp32.

    By a constant, LLVM multiplies by its reciprocal in fp32, and may fuse that product with a sum.
    Raises `Rounded` where the product is another number than the quotient.
    """
    made, divisors = _precise_quotient(node, tiles), {*tiles[1].array.flat}
    if not node.kind.is_float or node.kind.bits > _FP32.bits or len(divisors) > 1:
        return made
    [divisor] = divisors
    if divisor == 0 or not math.isfinite(divisor):
        return made
    reciprocal = numbers.rounded(_FP32, 1 / divisor)
    dividends = list(np.broadcast_to(tiles[0].array, node.shape).flat)
    products = [numbers.multiplied(_FP32, a, reciprocal) for a in dividends]
    if any(
        repr(numbers.rounded(node.kind, product)) != repr(quotient)
        for product, quotient in zip(products, made.array.flat, strict=True)
    ):
        raise Rounded("a quotient by what may be a constant")
    exact = all(numbers.is_product_exact(_FP32, a, reciprocal) for a in dividends)
    return Tile(node.kind, made.array, node.kind == _FP32 and not exact)


def _compared(sign: str) -> Value:
    return _binary(lambda _, a, b: numbers.compared(a, b, sign))


def _unary(make: Callable[[Kind, Number], Number]) -> Value:
    return lambda node, tiles: each(node.kind, node.shape, lambda a: make(node.kind, a), *tiles)


def _chosen(node: Node, tiles: Sequence[Tile]) -> Tile:
    return each(node.kind, node.shape, lambda c, a, b: a if c else b, *tiles)


def _clamped(node: Node, tiles: Sequence[Tile]) -> Tile:
    low, high = node.details["bounds"]

    def one(a: Number) -> Number:
        if node.kind.is_float and math.isnan(a):
            raise Undefined("NaN in bounds")
        bounded: Number = low if a < low else min(a, high)
        return bounded

    return each(node.kind, node.shape, one, *tiles)


def _fused(node: Node, tiles: Sequence[Tile]) -> Tile:
    kind = node.kind
    made = each(kind, node.shape, lambda a, b, c: numbers.fused(kind, a, b, c), *tiles)
    return Tile(kind, made.array)


def _propagating(make: Callable[[Kind, Number, Number], Number]) -> Callable[..., Number]:
    def one(kind: Kind, a: Number, b: Number) -> Number:
        if kind.is_float and (math.isnan(a) or math.isnan(b)):
            return math.nan
        return make(kind, a, b)

    return one


def _propagating_text(name: str) -> Text:
    last = "propagate_nan=tl.PropagateNan.ALL"
    return lambda _, texts: f"tl.{name}({', '.join(texts)}, {last})"


def _whole(name: str) -> Value:
    return _unary(lambda kind, a: numbers.whole(kind, a, name))


ELEMENTWISE = {
    "add": Operation("arithmetic", infix_text("+"), _sum_or_difference(numbers.added)),
    "sub": Operation("arithmetic", infix_text("-"), _sum_or_difference(numbers.subtracted)),
    "mul": Operation("arithmetic", infix_text("*"), _product),
    "div_rn": Operation("arithmetic", call_text("div_rn"), _precise_quotient),
    "sqrt_rn": Operation("arithmetic", call_text("sqrt_rn"), _whole("sqrt_rn")),
    "div": Operation("arithmetic", infix_text("/"), _quotient),
    "floordiv": Operation("division of integers", infix_text("//"), _binary(numbers.divided)),
    "mod": Operation("division of integers", infix_text("%"), _binary(numbers.remainder)),
    "fmod": Operation("arithmetic", infix_text("%"), _float_remainder),
    **{
        f"bit{sign}": Operation(
            "bits",
            infix_text(sign),
            _signed(numbers.bitwise, sign),
        )
        for sign in "&|^"
    },
    **{
        f"shift{sign}": Operation(
            "shifts",
            infix_text(sign),
            _shifted(sign),
        )
        for sign in ("<<", ">>")
    },
    **{
        f"is{sign}": Operation("comparisons", infix_text(sign), _compared(sign))
        for sign in ("<", "<=", ">", ">=", "==", "!=")
    },
    "maximum": Operation("minimum, maximum", call_text("maximum"), _binary(numbers.larger)),
    "minimum": Operation("minimum, maximum", call_text("minimum"), _binary(numbers.smaller)),
    **{
        f"{name}_nan": Operation(
            "minimum, maximum",
            _propagating_text(name),
            _binary(_propagating(make)),
        )
        for name, make in (("maximum", numbers.larger), ("minimum", numbers.smaller))
    },
    "clamp": Operation(
        "minimum, maximum",
        lambda node, texts: (
            f"tl.clamp({texts[0]}, {', '.join(map(number_text, node.details['bounds']))})"
        ),
        _clamped,
    ),
    "umulhi": Operation("bits", call_text("umulhi"), _binary(numbers.high_product)),
    "fma": Operation("arithmetic", call_text("fma"), _fused),
    "neg": Operation("arithmetic", lambda _, t: f"(-{t[0]})", _unary(numbers.negated)),
    "invert": Operation("bits", lambda _, t: f"(~{t[0]})", _unary(numbers.inverted)),
    "abs": Operation("arithmetic", call_text("abs"), _unary(numbers.size_of)),
    **{
        name: Operation("arithmetic", call_text(name), _whole(name))
        for name in ("floor", "ceil", "sqrt")
    },
    "where": Operation("where", call_text("where"), _chosen),
}


def _cast(node: Node, tiles: Sequence[Tile]) -> Tile:
    source = tiles[0].kind
    return each(node.kind, node.shape, lambda a: numbers.converted(source, node.kind, a), *tiles)


def _bitcast(node: Node, tiles: Sequence[Tile]) -> Tile:
    source = tiles[0].kind

    def one(a: Number) -> Number:
        if source.is_float and math.isnan(a):
            raise Undefined("the bits of NaN")
        found = numbers.from_bits(node.kind, numbers.to_bits(source, a))
        if node.kind.is_fp8 and not math.isfinite(found):
            raise Undefined("an infinity or NaN of fp8")
        return found

    return each(node.kind, node.shape, one, *tiles)


def _truncated(node: Node, tiles: Sequence[Tile]) -> Tile:
    return each(node.kind, node.shape, lambda a: numbers.truncated(node.kind, a), *tiles)


CASTS = {
    "truncate": Operation(
        "casts",
        lambda node, t: f'{t[0]}.to({kind_text(node.kind)}, fp_downcast_rounding="rtz")',
        _truncated,
    ),
    "cast": Operation("casts", lambda node, t: f"{t[0]}.to({kind_text(node.kind)})", _cast),
    "bitcast": Operation(
        "casts", lambda node, t: f"{t[0]}.to({kind_text(node.kind)}, bitcast=True)", _bitcast
    ),
}
