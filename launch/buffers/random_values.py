"""Random elements, piece by piece, and on several threads where the very same numbers come of it.

They are those of one `numpy.random.Generator(numpy.random.Philox(seed))`, asked for all at once, in
float64 or int64, then cast. `uniform` takes one draw for each element, so any thread can begin
anywhere. How many draws `normal` and `integers` take depends on the draws: they are made in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from compiler.json_number import read_number
from launch.buffers.element_types import Array, cast, stored

PIECE = 1 << 15
"""Elements made in full width at a time: they stay in the processor's cache until they are cast."""
SPAN = 1 << 19
"""Elements that are worth a thread."""
MOST_THREADS = 16
_DRAWS_A_STEP = 4
"""Of 64 bits, by which `Philox.advance` counts."""
_LARGEST_SIGNED = 2**63

Draw = Callable[[int], Array]
"""Makes the next so many elements in full width."""


def random_elements(init: dict[str, Any], count: int, dtype: str) -> Array:
    """Return `count` stored elements as `uniform`, `normal` or `randint` describes them."""
    made = np.empty(count, stored(dtype))
    if init["kind"] == "uniform" and count >= 2 * SPAN:
        _fill_on_threads(made, init, dtype)
    else:
        _fill(made, _draw_of(init), dtype)
    return made


def _fill(made: Array, draw: Draw, dtype: str) -> None:
    draw(0)  # refuses what is no distribution, however many elements there are
    for start in range(0, made.size, PIECE):
        piece = made[start : start + PIECE]
        piece[...] = cast(draw(piece.size), dtype)


def _draw_of(init: dict[str, Any], start: int = 0) -> Draw:
    """Return what draws from element `start` on, which is 0 or a step of a `uniform`."""
    source = np.random.Philox(int(read_number(init["seed"])))
    if start:
        source.advance(start // _DRAWS_A_STEP)
    generator = np.random.Generator(source)
    if init["kind"] == "uniform":
        low, high = float(read_number(init.get("low", 0))), float(read_number(init.get("high", 1)))
        return lambda count: generator.uniform(low, high, count)
    if init["kind"] == "normal":
        mean, std = float(read_number(init.get("mean", 0))), float(read_number(init.get("std", 1)))
        return lambda count: generator.normal(mean, std, count)
    first, end = int(read_number(init["low"])), int(read_number(init["high"]))
    kind: Any = np.uint64 if end > _LARGEST_SIGNED else np.int64
    return lambda count: generator.integers(first, end, count, kind)


def _fill_on_threads(made: Array, init: dict[str, Any], dtype: str) -> None:
    spans = list(_spans(made.size, _threads()))

    def fill(span: slice) -> None:
        _fill(made[span], _draw_of(init, span.start), dtype)

    try:
        with ThreadPoolExecutor(len(spans)) as threads:
            list(threads.map(fill, spans))
    except RuntimeError:  # this process may not start any
        fill(slice(0, made.size))


def _spans(count: int, most: int) -> Iterator[slice]:
    """Yield at most `most` slices of `count` elements, each of which begins at a step."""
    number = max(1, min(most, count // SPAN))
    length = -(-count // number)
    length += -length % _DRAWS_A_STEP
    for start in range(0, count, length):
        yield slice(start, min(start + length, count))


def _threads() -> int:
    """Return how many threads may run at once; 1 behind walls that do not tell."""
    try:
        return min(len(os.sched_getaffinity(0)), MOST_THREADS)
    except OSError:
        return 1
