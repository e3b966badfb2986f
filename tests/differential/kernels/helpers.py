"""Helpers that kernels call, each as Triton source and as a plain meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.differential.kernels import exact_numbers as numbers
from tests.differential.kernels.exact_numbers import Number
from tests.differential.kernels.operation import Operation, Value
from tests.differential.kernels.tiles import Node, Tile, each

SOURCES: Mapping[str, str] = {
    "first_if": "condition, a, b):\n    if condition:\n        return a\n    return b",
    "distance": "a, b):\n    if a > b:\n        return a - b\n    return b - a",
    "tripled": "a, times):\n    for _ in range(times):\n        a = a * 3 + 1\n    return a",
    "halved_until": (
        "a, least):\n    rounds = tl.full([], 0, tl.int32)\n    while a > least:\n"
        "        a = a // 2\n        rounds += 1\n    return rounds"
    ),
}


def helper_text(name: str) -> str:
    """Return the helper of this name."""
    return f"@triton.jit\ndef {name}({SOURCES[name]}\n"


def _first_if(_: Node, tiles: Sequence[Tile]) -> Tile:
    return tiles[1] if tiles[0].number else tiles[2]


def _tripled(node: Node, tiles: Sequence[Tile]) -> Tile:
    def one(a: Number) -> Number:
        for _ in range(int(tiles[1].number)):
            a = numbers.wrapped(node.kind, int(a) * 3 + 1)
        return a

    return each(node.kind, node.shape, one, tiles[0])


def _halved_until(node: Node, tiles: Sequence[Tile]) -> Tile:
    def one(a: Number, least: Number) -> Number:
        rounds = 0
        while a > least:
            a, rounds = int(a) // 2, rounds + 1
        return rounds

    return each(node.kind, node.shape, one, *tiles)


def _distance(node: Node, tiles: Sequence[Tile]) -> Tile:
    kind = node.kind
    return each(kind, node.shape, lambda a, b: numbers.wrapped(kind, int(abs(a - b))), *tiles)


def _called(name: str, value: Value) -> Operation:
    return Operation("helpers", lambda _, texts: f"{name}({', '.join(texts)})", value)


HELPERS: Mapping[str, Operation] = {
    "first_if": _called("first_if", _first_if),
    "tripled": _called("tripled", _tripled),
    "halved_until": _called("halved_until", _halved_until),
    "distance": Operation(
        "map_elementwise",
        lambda _, texts: f"tl.map_elementwise(distance, {', '.join(texts)})",
        _distance,
    ),
}
