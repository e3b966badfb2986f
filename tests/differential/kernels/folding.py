"""Reductions and scans, also with functions of the kernel itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exact_numbers import Number
from tests.differential.kernels.exactness import (
    added_up,
    check_nan,
    largest_of,
    multiplied_up,
    of_steps,
    smallest_of,
)
from tests.differential.kernels.moving import rows_of
from tests.differential.kernels.operation import (
    Operation,
    Text,
    Value,
)
from tests.differential.kernels.tiles import (
    Array,
    Node,
    Tile,
    check_unrounded,
    each,
)


@dataclass(frozen=True)
class Combine:
    """A function that a kernel gives to `tl.reduce` or `tl.associative_scan`.

    `takes` is how many tensors are combined; `commutes` is whether a reduction may use it.
    """

    body: str
    make: Callable[..., Any]
    takes: int = 1
    commutes: bool = True


COMBINES: Mapping[str, Combine] = {
    "combine_sum": Combine("a, b):\n    return a + b", numbers.added),
    "combine_product": Combine("a, b):\n    return a * b", numbers.multiplied),
    "combine_larger": Combine("a, b):\n    return tl.maximum(a, b)", numbers.larger),
    "combine_smaller": Combine("a, b):\n    return tl.where(a < b, a, b)", numbers.smaller),
    "combine_and": Combine(
        "a, b):\n    return a & b", lambda kind, a, b: numbers.bitwise(kind, a, b, "&")
    ),
    "combine_if": Combine(
        "a, b):\n    if a > b:\n        found = a\n    else:\n        found = b\n    return found",
        numbers.larger,
    ),
    "combine_last": Combine("a, b):\n    return b", lambda _, a, b: b, commutes=False),
    "combine_first": Combine("a, b):\n    return a", lambda _, a, b: a, commutes=False),
    "combine_pairs": Combine(
        "a, i, b, j):\n    takes = (a > b) | ((a == b) & (i < j))\n"
        "    return tl.where(takes, a, b), tl.where(takes, i, j)",
        lambda _, a, b: max(a, b, key=lambda pair: (pair[0], -pair[1])),
        takes=2,
    ),
    "combine_affine": Combine(
        "a, i, b, j):\n    return a * b, i * b + j",
        lambda kind, a, b: (
            numbers.multiplied(kind, a[0], b[0]),
            numbers.added(kind, numbers.multiplied(kind, a[1], b[0]), b[1]),
        ),
        takes=2,
        commutes=False,
    ),
}


def combine_text(name: str) -> str:
    """Return the helper of this name."""
    return f"@triton.jit\ndef {name}({COMBINES[name].body}\n"


def _joined(tiles: Sequence[Tile]) -> Array:
    """Return the numbers, of two tensors as pairs."""
    if len(tiles) == 1:
        return tiles[0].array
    found = np.empty(tiles[0].shape, object)
    for place in np.ndindex(*tiles[0].shape):
        found[place] = tuple(tile.array[place] for tile in tiles)
    return found


def _parted(node: Node, array: Array) -> Tile:
    """Return the numbers, of pairs those that the node asks for."""
    which = node.details.get("which")
    if which is None:
        return Tile(node.kind, array)
    found = np.empty(node.shape, object)
    for place in np.ndindex(*node.shape):
        found[place] = array[place][which]
    return Tile(node.kind, found)


def _along(array: Array, axis: int | None, keeps: bool, reduce: Callable[..., Any]) -> Array:
    """Return one number for each row along `axis`, or for all."""
    if axis is None:
        found = np.empty((1,) * array.ndim if keeps else (), object)
        found[...] = None
        found[(0,) * found.ndim] = reduce(list(array.flat))
        return found
    rows = rows_of(array, axis)
    found = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(*rows.shape[:-1]):
        found[place] = reduce(list(rows[place]))
    return np.expand_dims(found, axis) if keeps else found


def _reduction(all_of: Callable[..., Number], *, sums: bool = False) -> Value:
    """Return the value of a reduction in the type of its result, to which operands are cast."""

    def value(node: Node, tiles: Sequence[Tile]) -> Tile:
        if sums:
            check_unrounded(*tiles)
        source, kind = tiles[0].kind, node.kind
        wide = each(kind, tiles[0].shape, lambda a: numbers.converted(source, kind, a), tiles[0])
        details = node.details
        array = _along(wide.array, details["axis"], details["keeps"], lambda row: all_of(kind, row))
        return Tile(kind, array, tiles[0].is_rounded and not sums)

    return value


def _place_of(sign: str) -> Value:
    def value(node: Node, tiles: Sequence[Tile]) -> Tile:
        kind = tiles[0].kind

        def first(row: Sequence[Number]) -> int:
            check_nan(kind, row)
            best = 0
            for place, number in enumerate(row):
                if numbers.compared(number, row[best], sign):
                    best = place
            return best

        details = node.details
        return Tile(node.kind, _along(tiles[0].array, details["axis"], details["keeps"], first))

    return value


def _reduce_text(name: str) -> Text:
    def text(node: Node, texts: Sequence[str]) -> str:
        keeps = ", keep_dims=True" if node.details["keeps"] else ""
        return f"tl.{name}({texts[0]}, axis={node.details['axis']}{keeps})"

    return text


def _combined_text(name: str) -> Text:
    def text(node: Node, texts: Sequence[str]) -> str:
        which = node.details.get("which")
        given = texts[0] if which is None else f"({', '.join(texts)})"
        last = f", reverse={node.details['reverse']}" if name == "associative_scan" else ""
        if node.details.get("keeps"):
            last = ", keep_dims=True"
        part = "" if which is None else f"[{which}]"
        combine = node.details["combine"]
        return f"tl.{name}({given}, {node.details['axis']}, {combine}{last}){part}"

    return text


def _reduced(node: Node, tiles: Sequence[Tile]) -> Tile:
    details, kind = node.details, tiles[0].kind
    make = of_steps(COMBINES[details["combine"]].make)
    array = _along(_joined(tiles), details["axis"], details["keeps"], lambda row: make(kind, row))
    return _parted(node, array)


def _running(array: Array, axis: int, reverse: bool, make: Callable[[Sequence[Any]], Any]) -> Array:
    """Return what `make` makes of all numbers up to each one."""
    found = np.empty(array.shape, object)
    rows, made = rows_of(array, axis), rows_of(found, axis)
    for place in np.ndindex(*rows.shape[:-1]):
        row = list(rows[place])
        row = row[::-1] if reverse else row
        steps = [make(row[: end + 1]) for end in range(len(row))]
        for at, step in enumerate(steps[::-1] if reverse else steps):
            made[(*place, at)] = step
    return found


def _scanned(node: Node, tiles: Sequence[Tile]) -> Tile:
    details, kind = node.details, tiles[0].kind
    make = of_steps(COMBINES[details["combine"]].make)
    array = _running(
        _joined(tiles), details["axis"], details["reverse"], lambda row: make(kind, row)
    )
    return _parted(node, array)


def _running_sum(all_of: Callable[..., Number]) -> Value:
    def value(node: Node, tiles: Sequence[Tile]) -> Tile:
        check_unrounded(*tiles)
        source, kind, details = tiles[0].kind, node.kind, node.details
        wide = each(kind, node.shape, lambda a: numbers.converted(source, kind, a), tiles[0])
        return Tile(
            kind,
            _running(
                wide.array, details["axis"], details["reverse"], lambda row: all_of(kind, row)
            ),
        )

    return value


def _scan_text(name: str) -> Text:
    return lambda node, t: (
        f"tl.{name}({t[0]}, {node.details['axis']}, reverse={node.details['reverse']})"
    )


FOLDS = {
    "sum": Operation("reductions", _reduce_text("sum"), _reduction(added_up, sums=True)),
    "max": Operation("reductions", _reduce_text("max"), _reduction(largest_of)),
    "min": Operation("reductions", _reduce_text("min"), _reduction(smallest_of)),
    "xor_sum": Operation(
        "reductions",
        _reduce_text("xor_sum"),
        _reduction(of_steps(lambda kind, a, b: numbers.bitwise(kind, a, b, "^"))),
    ),
    "reduce_or": Operation(
        "reductions",
        _reduce_text("reduce_or"),
        _reduction(of_steps(lambda kind, a, b: numbers.bitwise(kind, a, b, "|"))),
    ),
    "argmax": Operation("argmax, argmin", _reduce_text("argmax"), _place_of(">")),
    "argmin": Operation("argmax, argmin", _reduce_text("argmin"), _place_of("<")),
    "reduce": Operation("custom combine", _combined_text("reduce"), _reduced),
    "scan": Operation("associative_scan", _combined_text("associative_scan"), _scanned),
    "cumsum": Operation("cumsum, cumprod", _scan_text("cumsum"), _running_sum(added_up)),
    "cumprod": Operation("cumsum, cumprod", _scan_text("cumprod"), _running_sum(multiplied_up)),
}
