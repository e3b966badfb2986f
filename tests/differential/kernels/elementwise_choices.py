"""Chooses operations that go lane by lane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.kernels.choices import (
    ALL,
    Maker,
    may_cast,
)
from tests.differential.kernels.exact_numbers import KINDS, Kind
from tests.differential.kernels.tiles import INT1, INT32, Node, Shape

if TYPE_CHECKING:
    from tests.differential.kernels.expressions import Expressions


def elementwise(kind: Kind) -> list[tuple[float, Maker]]:
    """Return makers of operations that go lane by lane."""

    def of_two(name: str) -> Maker:
        return lambda make, kind, shape, depth: Node(
            name, kind, shape, make.pair(kind, shape, depth)
        )

    def of_one(name: str) -> Maker:
        return lambda make, kind, shape, depth: Node(
            name, kind, shape, (make.expression(kind, shape, depth),)
        )

    found: list[tuple[float, Maker]] = [(1.5, where), (2, cast)]
    if kind.is_fp8:
        return found
    found += [(0.4, first_if)]
    found += [(0.3, tripled), (0.3, distance)] if kind.is_int else []
    found += [(0.6, halved_until)] if kind == INT32 else []
    if not kind.is_float:
        found += [(1, of_two("bit&")), (1, of_two("bit|")), (1, of_two("bit^"))]
        found += [(0.7, of_one("invert"))]
    if kind.is_bool:
        return [*found, (6, comparison)]
    found += [(2, of_two("add")), (1.5, of_two("sub")), (1.5, of_two("mul"))]
    found += [(0.8, of_two("maximum")), (0.8, of_two("minimum")), (0.5, of_one("neg"))]
    found += [(0.7, of_one("abs")), (0.8, bits)]
    if kind.is_int:
        found += [(1, of_two("shift<<")), (1, of_two("shift>>")), (2.0, division)]
        if kind.bits >= 32:
            found += [(0.5, of_two("umulhi")), (0.5, clamp)]
        return found
    found += [(0.4, of_two("maximum_nan")), (0.4, of_two("minimum_nan"))]
    if kind.bits >= 32:
        found += [(0.8, of_two("div")), (0.3, of_two("fmod")), (0.4, of_one("floor"))]
        found += [(0.4, of_one("ceil")), (0.4, of_one("sqrt"))]
    if kind.bits == 32:
        found += [(0.4, of_two("div_rn")), (0.3, of_one("sqrt_rn"))]
        found += [(0.4, fma), (0.4, clamp)]
    return found


def where(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    a, b = make.pair(kind, shape, depth)
    if b.operation == "literal":
        b = make.expression(kind, shape, 0)
    condition = make.expression(INT1, make.narrower(shape), depth)
    return Node("where", kind, shape, (condition, a, b))


def first_if(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    a, b = (make.expression(kind, shape, depth) for _ in range(2))
    return Node("first_if", kind, shape, (make.expression(INT1, (), depth), a, b))


def tripled(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    return Node("tripled", kind, shape, (make.expression(kind, shape, depth), make.few()))


def distance(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    if not shape:  # Triton maps tensors only
        return None
    a, b = make.pair(kind, shape, depth)
    b = make.full(kind, shape) if b.operation == "literal" or not b.shape else b
    a = a if a.shape else make.full(kind, shape)
    return Node("distance", kind, shape, (a, b))


def halved_until(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    if shape or kind != INT32:
        return None
    some = make.binary("bit&", INT32, make.expression(INT32, (), depth), make.literal(INT32, 63))
    least = make.full(INT32, ()) if make.random.random() < 0.3 else make.few()
    least = make.binary("bit|", INT32, least, make.literal(INT32, 1))
    least = make.binary("bit&", INT32, least, make.literal(INT32, 31))
    return Node("halved_until", INT32, (), (some, least))


def cast(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    if kind.name in {"float16", "bfloat16"} and make.random.random() < 0.2:
        operand = make.expression(KINDS["float32"], shape, depth)
        return Node("truncate", kind, shape, (operand,))
    sources = [one for one in ALL if may_cast(one, kind)]
    near = [one for one in sources if one in make.kinds]
    source = make.random.choice(near if near and make.random.random() < 0.7 else sources)
    return Node("cast", kind, shape, (make.expression(source, shape, depth),))


def bits(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    sources = [one for one in ALL if one.bits == kind.bits and one != kind and not one.is_bool]
    source = make.random.choice(sources)
    return Node("bitcast", kind, shape, (make.expression(source, shape, depth),))


def division(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    a, b = make.pair(kind, shape, depth)
    if b.operation != "literal":
        b = make.binary("bit|", kind, b, make.literal(kind, 1))
    return Node(make.random.choice(["floordiv", "mod"]), kind, shape, (a, b))


def clamp(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    bounds = (-2.0, 3.0) if kind.is_float else (1, 9)
    value = make.expression(kind, shape, depth)
    return Node("clamp", kind, shape, (value,), {"bounds": bounds})


def fma(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    parts = (shape, shape, shape)
    return Node("fma", kind, shape, tuple(make.expression(kind, s, depth) for s in parts))


def comparison(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    operand = make.any_kind()
    while operand.is_fp8:
        operand = make.any_kind()
    sign = make.random.choice(["<", "<=", ">", ">=", "==", "!="])
    return Node(f"is{sign}", kind, shape, make.pair(operand, shape, depth))
