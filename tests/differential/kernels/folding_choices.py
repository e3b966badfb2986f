"""Chooses reductions and scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.differential.kernels.choices import (
    FLOATS,
    WHOLE,
    Maker,
    countable,
    lanes_of,
    summed,
    widened,
)
from tests.differential.kernels.exact_numbers import Kind
from tests.differential.kernels.folding import COMBINES
from tests.differential.kernels.tiles import INT32, Node, Shape

if TYPE_CHECKING:
    from tests.differential.kernels.expressions import Expressions


def folding(kind: Kind, shape: Shape) -> list[tuple[float, Maker]]:
    """Return makers of reductions and scans."""
    if kind.is_fp8 or len(shape) > 2:
        return []
    found: list[tuple[float, Maker]] = [(1.2, reduced)]
    if kind.is_bool:
        return found
    if shape:
        found += [(0.8, running)]
    if kind.is_int:
        found += [(0.6, combined)]
        if shape:
            found += [(0.8, scanned)]
    return found


def longer(make: Expressions, shape: Shape) -> tuple[Shape, dict[str, Any]] | None:
    """Return a shape that a reduction makes `shape` of, and how."""
    if not shape and make.random.random() < 0.4:
        return make.random.choice(make.shapes), {"axis": None, "keeps": False}
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    extent = make.random.choice([2, 4, 8, 16, 32])
    if ones and make.random.random() < 0.6:
        axis = make.random.choice(ones)
        source = (*shape[:axis], extent, *shape[axis + 1 :])
        return (source, {"axis": axis, "keeps": True}) if lanes_of(source) <= 64 else None
    axis = make.random.randint(0, len(shape))
    source = (*shape[:axis], extent, *shape[axis:])
    return (source, {"axis": axis, "keeps": False}) if lanes_of(source) <= 64 else None


def reduced(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    found = longer(make, shape)
    if found is None:
        return None
    source, details = found
    names = ["sum", "max", "min"] if not kind.is_bool else []
    names += ["xor_sum", "reduce_or"] if not kind.is_float else []
    names += ["argmax", "argmin"] if kind == INT32 and details["axis"] is not None else []
    name = make.random.choice(names)
    operand = kind
    if name == "sum":
        operand = make.random.choice([one for one in countable() if summed(one) == kind] or [kind])
    elif name in {"max", "min"}:
        kinds = [one for one in countable() if widened(one) == kind]
        if not kinds:
            return None
        operand = make.random.choice(kinds)
    elif name.startswith("arg"):
        operand = make.random.choice([*WHOLE, *FLOATS])
    if name == "sum" and summed(operand) != kind:
        return None
    return Node(name, kind, shape, (make.expression(operand, source, depth),), details)


def running(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    kinds = [one for one in countable() if summed(one) == kind]
    if not kinds:
        return None
    details = {"axis": make.random.randrange(len(shape)), "reverse": make.random.random() < 0.5}
    operand = make.expression(make.random.choice(kinds), shape, depth)
    return Node(make.random.choice(["cumsum", "cumprod"]), kind, shape, (operand,), details)


def combined(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    found = longer(make, shape)
    if found is None:
        return None
    source, details = found
    names = [name for name, combine in COMBINES.items() if combine.commutes]
    return with_combine(make, "reduce", make.random.choice(names), kind, shape, source, details)


def scanned(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    details = {"axis": make.random.randrange(len(shape)), "reverse": make.random.random() < 0.5}
    name = make.random.choice(list(COMBINES))
    return with_combine(make, "scan", name, kind, shape, shape, details)


def with_combine(
    make: Expressions,
    operation: str,
    name: str,
    kind: Kind,
    shape: Shape,
    source: Shape,
    details: dict[str, Any],
) -> Node:
    takes = COMBINES[name].takes
    operands = tuple(make.expression(kind, source, 1) for _ in range(takes))
    details = {**details, "combine": name}
    if takes > 1:
        details["which"] = make.random.randrange(takes)
    return Node(operation, kind, shape, operands, details)
