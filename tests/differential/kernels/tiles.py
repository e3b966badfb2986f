"""Expressions of generated kernels: a tree, and the tile of numbers that it evaluates to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.differential.kernels.exact_numbers import KINDS, Kind, Number, Rounded

Shape = tuple[int, ...]
Array = Any
"""A NumPy array of Python's own numbers."""


@dataclass(frozen=True)
class Node:
    """One operation of an expression; `details` are what its two meanings need except operands."""

    operation: str
    kind: Kind
    shape: Shape
    operands: tuple[Node, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    def all(self) -> Sequence[Node]:
        """Return the node and all below it."""
        return [self, *(node for operand in self.operands for node in operand.all())]


@dataclass(frozen=True)
class Tile:
    """Numbers of one kind. `is_rounded`: a product among them may be rounded.

    A compiler may fuse such a product into a sum, so that sums of it have two right answers.
    """

    kind: Kind
    array: Array
    is_rounded: bool = False

    @property
    def shape(self) -> Shape:
        return tuple(self.array.shape)

    @property
    def number(self) -> Number:
        """The number of a scalar."""
        found: Number = self.array[()]
        return found


INT32, INT1 = KINDS["int32"], KINDS["int1"]


def filled(kind: Kind, shape: Shape, value: Number) -> Tile:
    """Return a tile of one number."""
    array = np.empty(shape, object)
    array[...] = value
    return Tile(kind, array)


def spread(tile: Tile, shape: Shape) -> Array:
    """Return the numbers in a wider shape."""
    return np.broadcast_to(tile.array, shape)


def each(kind: Kind, shape: Shape, make: Callable[..., Number], *tiles: Tile) -> Tile:
    """Return what `make` makes of the numbers at each place."""
    arrays = [spread(tile, shape) for tile in tiles]
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        found[place] = make(*[array[place] for array in arrays])
    return Tile(kind, found, kind.is_float and any(tile.is_rounded for tile in tiles))


def check_unrounded(*tiles: Tile) -> None:
    """Raise `Rounded` where a product may be fused into the sum that is to be made."""
    if any(tile.is_rounded for tile in tiles):
        raise Rounded("a rounded product in a sum")
