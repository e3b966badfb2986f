"""All operations of expressions by name: those of other files, products of matrices, leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.elementwise import CASTS, ELEMENTWISE
from tests.differential.kernels.exact_numbers import Kind, Number, Rounded, Undefined
from tests.differential.kernels.exactness import (
    added_up,
)
from tests.differential.kernels.folding import FOLDS
from tests.differential.kernels.helpers import HELPERS
from tests.differential.kernels.moving import ORDERS, SHAPES
from tests.differential.kernels.operation import (
    Operation,
    kind_text,
    number_text,
    shape_text,
)
from tests.differential.kernels.tiles import (
    Node,
    Tile,
    check_unrounded,
    filled,
)


def _dot_text(node: Node, texts: Sequence[str]) -> str:
    last = f", acc={texts[2]}" if len(texts) > 2 else ""
    last += f', input_precision="ieee", out_dtype={kind_text(node.kind)}'
    return f"tl.dot({texts[0]}, {texts[1]}{last})"


def _exact_product(kind: Kind, a: Number, b: Number) -> Number:
    """Return a product of two elements of matrices. Raises `Undefined` if it is rounded."""
    if not kind.is_float:
        return int(a) * int(b)
    if not (math.isfinite(a) and math.isfinite(b)):
        raise Undefined("a product of matrices that is not finite")
    exact = Fraction(a) * Fraction(b)
    if not numbers.is_exact(kind, exact):
        raise Rounded("a rounded product in a sum")
    return float(exact)


def _dot(node: Node, tiles: Sequence[Tile]) -> Tile:
    check_unrounded(*tiles)
    kind, (rows, columns) = node.kind, node.shape
    a, b = tiles[0].array, tiles[1].array
    found = np.empty(node.shape, object)
    for i in range(rows):
        for j in range(columns):
            given = [(a[i, k], b[k, j]) for k in range(a.shape[1])]
            products = [_exact_product(kind, x, y) for x, y in given]
            if len(tiles) > 2:
                products.append(tiles[2].array[i, j])
            found[i, j] = added_up(kind, products)
    if kind.is_float and any(value == 0 and math.copysign(1, value) < 0 for value in found.flat):
        raise Undefined("the sign of a zero of a product of matrices")
    return Tile(kind, found)


def _arange(node: Node, _: Sequence[Tile]) -> Tile:
    start = node.details["start"]
    return Tile(node.kind, np.array(range(start, start + node.shape[0]), object))


LEAVES = {
    "literal": Operation(
        "",
        lambda node, _: number_text(node.details["value"]),
        lambda node, _: filled(node.kind, (), node.details["value"]),
    ),
    "full": Operation(
        "",
        lambda node, _: (
            f"tl.full({shape_text(node.shape)}, {number_text(node.details['value'])}, "
            f"{kind_text(node.kind)})"
        ),
        lambda node, _: filled(node.kind, node.shape, node.details["value"]),
    ),
    "arange": Operation(
        "",
        lambda node, _: (
            f"tl.arange({node.details['start']}, {node.details['start'] + node.shape[0]})"
        ),
        _arange,
    ),
    "dot": Operation("dot", _dot_text, _dot),
}
OPERATIONS: Mapping[str, Operation] = {
    **ELEMENTWISE, **CASTS, **SHAPES, **ORDERS, **FOLDS, **LEAVES, **HELPERS,
}  # fmt: skip
