"""Triton's drawings of layouts, read back into places: a second opinion on linear forms."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import xor
from typing import Any

from triton._C.libtriton import gluon_ir

WARP_SIZE = {"cuda": 32, "hip": 64}
_CELL = re.compile(r"[^\[\],\s][^,\]\n]*")
_HOLDER = re.compile(r"T(\d+):\s*(\d+)")

Place = tuple[int, ...]
Holders = dict[Place, set[tuple[int, int]]]
"""The threads and registers that hold each element."""


def drawn_by_triton(layout: Any, shape: Sequence[int]) -> Holders:
    """Return Triton's own view of a distributed layout of up to two dimensions."""
    text = gluon_ir.get_layout_view(layout, list(shape), False)
    cells = [_HOLDER.findall(cell) for cell in _CELL.findall(text) if "T" in cell]
    places = list(itertools.product(*map(range, shape)))
    assert len(cells) == len(places)
    return {
        place: {(int(thread), int(register)) for thread, register in cell}
        for place, cell in zip(places, cells, strict=True)
    }


def held_by(bases: dict[str, list[list[int]]], rank: int, warp_size: int) -> Holders:
    """Return our answer about the same."""
    found: Holders = defaultdict(set)
    counts = {name: range(1 << len(bases[name])) for name in ("register", "lane", "warp")}
    for register, lane, warp in itertools.product(*counts.values()):
        place = [0] * rank
        for name, number in (("register", register), ("lane", lane), ("warp", warp)):
            place = added(place, offset_of(bases[name], number, rank))
        found[tuple(place)].add((warp * warp_size + lane, register))
    return dict(found)


def offset_of(bases: list[list[int]], number: int, rank: int) -> list[int]:
    """Return the XOR of the bases that the number has bits for."""
    chosen = [base for bit, base in enumerate(bases) if number >> bit & 1]
    return reduce(added, chosen, [0] * rank)


def added(some: Iterable[int], others: Iterable[int]) -> list[int]:
    """Return the sum of two offsets, as linear layouts add."""
    return list(map(xor, some, others))
