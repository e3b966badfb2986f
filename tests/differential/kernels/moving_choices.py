"""Chooses operations that move lanes, and products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.differential.kernels.choices import (
    FLOATS,
    MAX_LANES,
    SHAPES,
    WHOLE,
    Maker,
    lanes_of,
    widened,
)
from tests.differential.kernels.exact_numbers import KINDS, Kind
from tests.differential.kernels.tiles import INT32, Node, Shape

if TYPE_CHECKING:
    from tests.differential.kernels.expressions import Expressions


def reshaping(kind: Kind, shape: Shape) -> list[tuple[float, Maker]]:
    """Return makers of operations that move lanes."""
    if not shape:
        return []
    is_row, last = len(shape) == 1, shape[-1]
    may_sort = not kind.is_bool and not kind.is_fp8 and last >= 2 and lanes_of(shape) <= 32
    has_product = len(shape) == 2 and kind.name in {"int32", "float32", "float64"}
    found: list[tuple[bool, float, Maker]] = [
        (True, 0.4, reshaped), (True, 0.5, broadcast), (True, 0.4, split),
        (is_row, 0.3, raveled), (not is_row, 0.6, permuted),
        (not is_row and 1 in shape, 1.0, expanded),
        (not kind.is_bool, 0.5, gathered),
        (not kind.is_bool and max(shape) > 1, 0.4, flipped),
        (last == 2 and not is_row, 2.0, joined),
        (last >= 4, 0.3, interleaved), (is_row and last >= 4, 0.4, catenated),
        (may_sort, 0.4, ordered), (kind == INT32 and is_row and last >= 2, 1.5, histogram),
        (has_product, 0.8, product),
    ]  # fmt: skip
    return [(weight, maker) for fits, weight, maker in found if fits]


def reshaped(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    lanes = lanes_of(shape)
    found = [one for one in (*SHAPES, (1, lanes), (lanes,)) if lanes_of(one) == lanes]
    source = make.random.choice(found)
    return Node("reshape", kind, shape, (make.expression(kind, source, depth),))


def raveled(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    found = [one for one in SHAPES if lanes_of(one) == shape[0]] or [shape]
    source = make.random.choice(found)
    return Node("ravel", kind, shape, (make.expression(kind, source, depth),))


def broadcast(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    source: Shape = tuple(e if make.random.random() < 0.5 else 1 for e in shape)
    source = () if make.random.random() < 0.3 else source
    return Node("broadcast", kind, shape, (make.expression(kind, source, depth),))


def permuted(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    order = list(range(len(shape)))
    make.random.shuffle(order)
    source = [0] * len(shape)
    for place, axis in enumerate(order):
        source[axis] = shape[place]
    operand = make.expression(kind, tuple(source), depth)
    if order == [1, 0] and make.random.random() < 0.5:
        return Node("trans", kind, shape, (operand,))
    return Node("permute", kind, shape, (operand,), {"order": tuple(order)})


def expanded(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    axis = make.random.choice([axis for axis, extent in enumerate(shape) if extent == 1])
    source = shape[:axis] + shape[axis + 1 :]
    return Node("expand", kind, shape, (make.expression(kind, source, depth),), {"axis": axis})


def flipped(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    axis = make.random.choice([axis for axis, extent in enumerate(shape) if extent > 1])
    return Node("flip", kind, shape, (make.expression(kind, shape, depth),), {"axis": axis})


def gathered(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    axis = make.random.randrange(len(shape))
    extent = make.random.choice([2, 4, 8])
    source = (*shape[:axis], extent, *shape[axis + 1 :])
    if lanes_of(source) > MAX_LANES:
        source, extent = shape, shape[axis]
    index = make.binary(
        "bit&", INT32, make.expression(INT32, shape, depth), make.literal(INT32, extent - 1)
    )
    operands = (make.expression(kind, source, depth), index)
    return Node("gather", kind, shape, operands, {"axis": axis})


def joined(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    parts = tuple(make.expression(kind, shape[:-1], depth) for _ in range(2))
    return Node("join", kind, shape, parts)


def interleaved(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    half = (*shape[:-1], shape[-1] // 2)
    parts = tuple(make.expression(kind, half, depth) for _ in range(2))
    return Node("interleave", kind, shape, parts)


def catenated(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    half = (shape[0] // 2,)
    parts = tuple(make.expression(kind, half, depth) for _ in range(2))
    return Node("cat", kind, shape, parts)


def split(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    if 2 * lanes_of(shape) > MAX_LANES or len(shape) > 2:
        return None
    operand = make.expression(kind, (*shape, 2), depth)
    return Node("split", kind, shape, (operand,), {"which": make.random.randrange(2)})


def ordered(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    descending = make.random.random() < 0.5
    details = {"descending": descending}
    if make.random.random() < 0.5 and 2 * lanes_of(shape) <= MAX_LANES:
        sources = [one for one in (*WHOLE, *FLOATS) if widened(one) == kind]
        if sources:
            source = make.random.choice(sources)
            operand = make.expression(source, (*shape[:-1], 2 * shape[-1]), depth)
            return Node("topk", kind, shape, (operand,), details)
    return Node("sort", kind, shape, (make.expression(kind, shape, depth),), details)


def histogram(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node:
    lanes = (make.random.choice([8, 16, 32, 64]),)
    source = make.random.choice([INT32, KINDS["uint32"]])
    value = make.expression(source, lanes, depth)
    value = make.binary("bit&", source, value, make.literal(source, shape[0] - 1))
    operands = [value]
    if make.random.random() < 0.5:
        operands.append(make.mask(lanes, full=True))
    return Node("histogram", kind, shape, tuple(operands))


def product(make: Expressions, kind: Kind, shape: Shape, depth: int) -> Node | None:
    sources = {
        "int32": [("int8", 32)], "float64": [("float64", 4)],
        "float32": [("float32", 8), ("float16", 16), ("bfloat16", 16)],
    }  # fmt: skip
    name, inner = make.random.choice(sources[kind.name])
    source = KINDS[name]
    rows, columns = shape
    if max(rows, columns) * inner > 4 * MAX_LANES:
        return None
    operands = [
        make.expression(source, (rows, inner), min(depth, 1)),
        make.expression(source, (inner, columns), min(depth, 1)),
    ]
    if make.random.random() < 0.5:
        operands.append(make.expression(kind, shape, depth))
    return Node("dot", kind, shape, tuple(operands))
