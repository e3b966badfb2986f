"""Operations that move lanes: shapes, halves, orders, places and counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exactness import (
    check_order,
)
from tests.differential.kernels.operation import (
    Operation,
    Value,
    call_text,
    shape_text,
)
from tests.differential.kernels.tiles import (
    Array,
    Node,
    Tile,
    each,
    spread,
)


def _of_array(change: Callable[[Node, Array], Array]) -> Value:
    return lambda node, tiles: Tile(node.kind, change(node, tiles[0].array), tiles[0].is_rounded)


def _of_two(change: Callable[[Node, Array, Array], Array]) -> Value:
    return lambda node, tiles: Tile(
        node.kind,
        change(node, tiles[0].array, tiles[1].array),
        any(tile.is_rounded for tile in tiles),
    )


def _interleaved(_: Node, a: Array, b: Array) -> Array:
    return np.stack([a, b], -1).reshape(*a.shape[:-1], 2 * a.shape[-1])


def _half(node: Node, array: Array) -> Array:
    return array[..., node.details["which"]]


SHAPES = {
    "reshape": Operation(
        "shapes",
        lambda node, t: f"tl.reshape({t[0]}, {shape_text(node.shape)})",
        _of_array(lambda node, array: array.reshape(node.shape)),
    ),
    "permute": Operation(
        "shapes",
        lambda node, t: f"tl.permute({t[0]}, {shape_text(node.details['order'])})",
        _of_array(lambda node, array: array.transpose(node.details["order"])),
    ),
    "trans": Operation("shapes", call_text("trans"), _of_array(lambda _, array: array.T)),
    "ravel": Operation("shapes", call_text("ravel"), _of_array(lambda _, array: array.reshape(-1))),
    "expand": Operation(
        "shapes",
        lambda node, t: f"tl.expand_dims({t[0]}, {node.details['axis']})",
        _of_array(lambda node, array: array.reshape(node.shape)),
    ),
    "broadcast": Operation(
        "shapes",
        lambda node, t: f"tl.broadcast_to({t[0]}, {shape_text(node.shape)})",
        lambda node, tiles: Tile(
            node.kind, spread(tiles[0], node.shape).copy(), tiles[0].is_rounded
        ),
    ),
    "flip": Operation(
        "flip",
        lambda node, t: f"tl.flip({t[0]}, {node.details['axis']})",
        _of_array(lambda node, array: np.flip(array, node.details["axis"])),
    ),
    "join": Operation(
        "cat, join, split", call_text("join"), _of_two(lambda _, a, b: np.stack([a, b], -1))
    ),
    "interleave": Operation("cat, join, split", call_text("interleave"), _of_two(_interleaved)),
    "cat": Operation(
        "cat, join, split",
        lambda _, t: f"tl.cat({t[0]}, {t[1]}, can_reorder=True)",
        _of_two(lambda _, a, b: np.concatenate([a, b])),
    ),
    "split": Operation(
        "cat, join, split",
        lambda node, t: f"tl.split({t[0]})[{node.details['which']}]",
        _of_array(_half),
    ),
}


def rows_of(array: Array, axis: int) -> Array:
    """Return the array with `axis` last."""
    return np.moveaxis(array, axis, -1)


def _gathered(node: Node, tiles: Sequence[Tile]) -> Tile:
    axis = node.details["axis"]
    source, index = tiles[0].array, tiles[1].array
    found = np.empty(node.shape, object)
    for place in np.ndindex(*node.shape):
        at = list(place)
        at[axis] = index[place]
        found[place] = source[tuple(at)]
    return Tile(node.kind, found, tiles[0].is_rounded)


def _histogram(node: Node, tiles: Sequence[Tile]) -> Tile:
    counts = [0] * node.shape[0]
    mask = spread(tiles[1], tiles[0].shape) if len(tiles) > 1 else None
    for place, value in enumerate(tiles[0].array):
        if mask is None or mask[place]:
            counts[value] += 1
    return Tile(node.kind, np.array(counts, object))


def _sorted(node: Node, tiles: Sequence[Tile]) -> Tile:
    found = np.empty(node.shape, object)
    source, last = tiles[0].array, node.shape[-1]
    for place in np.ndindex(*node.shape[:-1]):
        check_order(node.kind, list(source[place]))
        found[place] = sorted(source[place], reverse=node.details["descending"])[:last]
    return Tile(node.kind, found, tiles[0].is_rounded)


def _topmost(node: Node, tiles: Sequence[Tile]) -> Tile:
    made = _sorted(node, tiles)
    source = tiles[0].kind
    return each(node.kind, node.shape, lambda a: numbers.converted(source, node.kind, a), made)


ORDERS = {
    "sort": Operation(
        "sort, topk",
        lambda node, t: f"tl.sort({t[0]}, descending={node.details['descending']})",
        _sorted,
    ),
    "topk": Operation(
        "sort, topk",
        lambda node, t: (
            f"tl.topk({t[0]}, {node.shape[-1]}, descending={node.details['descending']})"
        ),
        _topmost,
    ),
    "gather": Operation(
        "gather",
        lambda node, t: f"tl.gather({t[0]}, {t[1]}, {node.details['axis']})",
        _gathered,
    ),
    "histogram": Operation(
        "histogram",
        lambda node, t: (
            f"tl.histogram({t[0]}, {node.shape[0]}{', mask=' + t[1] if len(t) > 1 else ''})"
        ),
        _histogram,
    ),
}
