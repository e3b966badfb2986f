"""The choices of generated kernels: types, shapes, and their combinations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tests.differential.kernels.exact_numbers import KINDS, Kind
from tests.differential.kernels.tiles import INT1, INT32, Node, Shape

Maker = Callable[["Any", Kind, Shape, int], "Node | None"]
"""Creates an expression of a type and a shape, with operands of the given depth."""
SHAPES: Sequence[Shape] = (
    (8,), (16,), (32,), (64,), (2,), (1,), (4, 8), (8, 4), (2, 16), (16, 2), (8, 8), (1, 16),
    (16, 1), (4, 4), (2, 4, 4), (4, 2, 2), (1, 4, 2),
)  # fmt: skip
GRIDS = (
    (1, 1, 1), (2, 1, 1), (3, 1, 1), (5, 1, 1), (2, 2, 1), (3, 2, 1), (1, 3, 1), (2, 1, 2),
)  # fmt: skip
MAX_LANES = 64
INPUT_LANES = 64
"""A power of two, so that any integer is an index by its lowest bits."""
WHOLE = [kind for kind in KINDS.values() if kind.is_int]
FLOATS = [kind for kind in KINDS.values() if kind.is_float and not kind.is_fp8]
ALL = list(KINDS.values())


def lanes_of(shape: Shape) -> int:
    return math.prod(shape)


def spread_shape(a: Shape, b: Shape) -> Shape:
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return tuple(max(x, y) for x, y in zip(a, b, strict=True))


def countable() -> list[Kind]:
    return [INT1, *WHOLE, *FLOATS]


def summed(kind: Kind) -> Kind:
    """Return the type that Triton adds up in."""
    if kind.is_float or kind.bits >= 32:
        return kind
    return INT32 if kind.is_signed else KINDS["uint32"]


def widened(kind: Kind) -> Kind:
    """Return the type of the largest element."""
    if kind.bits >= 32:
        return kind
    return KINDS["float32"] if kind.is_float else INT32


def may_cast(source: Kind, target: Kind) -> bool:
    if source == target:
        return False
    fp8, other = (source, target) if source.is_fp8 else (target, source)
    return not fp8.is_fp8 or other.name in {"float16", "bfloat16", "float32"}
