"""Draws random elements piece by piece, and on several threads if they give the same numbers.

The elements equal one call of `numpy.random.Generator(numpy.random.Philox(seed))` in float64 or
64-bit integers, then cast. `uniform` takes one draw for each element, so a thread can start at any
element; `parallel_draws` explains how threads share `normal` and `integers`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from compiler.json_number import read_number
from launch.buffers.element_types import Array, cast, stored
from launch.buffers.parallel_draws import DRAWS_A_STEP, Draw, fill_on_threads

PIECE = 1 << 15
"""Elements to draw in full width at a time: few enough to stay in cache for the cast."""
SPAN = 1 << 19
"""Least number of elements that is worth a thread."""
MOST_THREADS = 16
_LARGEST_SIGNED = 2**63


def random_elements(init: dict[str, Any], count: int, dtype: str) -> Array:
    """Return `count` stored elements as `uniform`, `normal` or `randint` describes them."""
    made = np.empty(count, stored(dtype))
    threads = min(_threads(), count // SPAN) if count >= 2 * SPAN else 1
    try:
        if threads > 1 and _filled_on_threads(made, init, dtype, threads):
            return made
    except RuntimeError:  # the sandbox may forbid threads
        pass
    _fill(made, _draw_from(init, _source_of(init)), dtype)
    return made


def _fill(made: Array, draw: Draw, dtype: str) -> None:
    draw(0)  # rejects invalid distributions, even for zero elements
    for start in range(0, made.size, PIECE):
        piece = made[start : start + PIECE]
        piece[...] = cast(draw(piece.size), dtype)


def _source_of(init: dict[str, Any]) -> np.random.Philox:
    return np.random.Philox(int(read_number(init["seed"])))


def _draw_from(init: dict[str, Any], source: np.random.Philox) -> Draw:
    """Return a function that draws the next elements from `source`."""
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


def _filled_on_threads(made: Array, init: dict[str, Any], dtype: str, threads: int) -> bool:
    """Fill `made` on several threads; return False if one must do it. Raises RuntimeError."""
    if init["kind"] != "uniform":
        source_of, draw_from = partial(_source_of, init), partial(_draw_from, init)
        return fill_on_threads(made, source_of, draw_from, dtype, threads, PIECE)
    spans = list(_spans(made.size, threads))

    def fill(span: slice) -> None:
        source = _source_of(init)
        if span.start:
            source.advance(span.start // DRAWS_A_STEP)
        _fill(made[span], _draw_from(init, source), dtype)

    with ThreadPoolExecutor(len(spans)) as pool:
        list(pool.map(fill, spans))
    return True


def _spans(count: int, number: int) -> Iterator[slice]:
    """Yield at most `number` slices of `count` elements, each starting at a `Philox` step."""
    length = -(-count // number)
    length += -length % DRAWS_A_STEP
    for start in range(0, count, length):
        yield slice(start, min(start + length, count))


def _threads() -> int:
    """Return the number of threads that can run at once; 1 if the sandbox hides it."""
    try:
        return min(len(os.sched_getaffinity(0)), MOST_THREADS)
    except OSError:
        return 1
