"""The initial contents of a buffer for each kind of initialiser, the same on every machine.

The elements of random kinds equal one call of `uniform`, `normal` or `integers` of
`numpy.random.Generator(numpy.random.Philox(seed))` in float64 or 64-bit integers, then cast. Anyone
can reproduce these numbers with NumPy.

Several threads draw the elements of a large buffer. `uniform` takes one draw for each element, so a
thread can start at any element; a comment below explains how threads share `normal` and `integers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from compiler.json_number import read_number
from launch.buffers import npy
from launch.buffers.element_types import Array, cast, is_float, stored

_MAX_SIGNED = 2**63
PIECE = 1 << 15
"""Elements to draw in full width at a time: few enough to stay in cache for the cast."""
SPAN = 1 << 19
"""Least number of elements that is worth a thread."""
MAX_THREADS = 16
_DRAWS_A_STEP = 4
"""64-bit draws in one step of `Philox.advance`."""
_HALVES = 2 * _DRAWS_A_STEP
_SINGLE = 12
"""Elements at the start of a stretch to draw one by one, which gives the offset of each.

One in 50 normal elements takes more than one draw, so threads synchronise within this many."""
_SURE_PART = 0.9
"""Fraction of the rest of a stretch to draw at once without passing its end."""
_SAMPLE = 4096

_Draw = Callable[[int], Array]
"""Draws the next elements in full width."""
_DrawFrom = Callable[[np.random.Philox], _Draw]


class BadInitialiser(ValueError):
    """An initialiser does not fit its buffer; the message explains why."""


def elements(init: dict[str, Any], count: int, dtype: str, uploaded: bytes) -> Array:
    """Return `count` stored elements of `dtype` in logical order, as `init` describes them.

    `uploaded` is the `.npy` file of a `tensor`. The array is new, except that elements of a
    `tensor` may share `uploaded` and be read-only. Raises `BadInitialiser`, and `ValueError` for
    an unknown dtype or a malformed number.
    """
    match init["kind"]:
        case "zeros":
            return np.zeros(count, stored(dtype))
        case "ones":
            return _repeated(np.ones(1, np.int64), count, dtype)
        case "full":
            return _repeated(np.atleast_1d(_exact(read_number(init["value"]))), count, dtype)
        case "arange":
            return _arange(init, count, dtype)
        case "uniform" | "normal" | "randint":
            return random_elements(init, count, dtype)
        case "values":
            return _values(init["values"], count, dtype)
        case "tensor":
            return _tensor(uploaded, count, dtype)
    message = f"unknown kind of initialiser: {init['kind']!r}"
    raise BadInitialiser(message)


def _repeated(value: Array, count: int, dtype: str) -> Array:
    """Return an array of `count` elements, all equal to the only one of `value`."""
    made = np.empty(count, stored(dtype))
    made[...] = cast(value, dtype)
    return made


def _exact(number: float) -> Any:
    """Return a NumPy scalar that holds `number` exactly. Raises `BadInitialiser` beyond 64 bits."""
    if isinstance(number, float):
        return np.float64(number)
    if -_MAX_SIGNED <= number < _MAX_SIGNED:
        return np.int64(number)
    if 0 <= number < 2 * _MAX_SIGNED:
        return np.uint64(number)
    message = f"the integer {number} does not fit in 64 bits"
    raise BadInitialiser(message)


def _arange(init: dict[str, Any], count: int, dtype: str) -> Array:
    made = np.empty(count, stored(dtype))
    start, step = read_number(init.get("start", 0)), read_number(init.get("step", 1))
    is_float = isinstance(start, float) or isinstance(step, float)
    first, distance = (
        (float(start), float(step))
        if is_float
        else (_exact(start).astype(np.int64), _exact(step).astype(np.int64))
    )
    for begin in range(0, count, PIECE):
        piece = made[begin : begin + PIECE]
        positions = np.arange(begin, begin + piece.size, dtype=np.float64 if is_float else np.int64)
        with np.errstate(over="ignore"):
            piece[...] = cast(first + distance * positions, dtype)
    return made


def _values(values: Any, count: int, dtype: str) -> Array:
    numbers = list(_flat(values))
    if len(numbers) != count:
        message = f"needs {count} values, one for each element, but lists {len(numbers)}"
        raise BadInitialiser(message)
    if is_float(dtype):
        return cast(np.array([float(number) for number in numbers], np.float64), dtype)
    if not numbers:
        return np.empty(0, stored(dtype))
    return np.concatenate([cast(np.atleast_1d(_exact(number)), dtype) for number in numbers])


def _flat(values: Any) -> Iterator[float]:
    if not isinstance(values, list):
        yield read_number(values)
        return
    for value in values:
        yield from _flat(value)


def _tensor(uploaded: bytes, count: int, dtype: str) -> Array:
    array = npy.elements(npy.read(uploaded), dtype)
    if array.size != count:
        message = f"the tensor has shape {list(array.shape)}, but the argument has {count} elements"
        raise BadInitialiser(message)
    return np.ascontiguousarray(array).reshape(-1)


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


def _fill(made: Array, draw: _Draw, dtype: str) -> None:
    draw(0)  # rejects invalid distributions, even for zero elements
    for start in range(0, made.size, PIECE):
        piece = made[start : start + PIECE]
        piece[...] = cast(draw(piece.size), dtype)


def _source_of(init: dict[str, Any]) -> np.random.Philox:
    return np.random.Philox(int(read_number(init["seed"])))


def _draw_from(init: dict[str, Any], source: np.random.Philox) -> _Draw:
    """Return a function that draws the next elements from `source`."""
    generator = np.random.Generator(source)
    if init["kind"] == "uniform":
        low, high = float(read_number(init.get("low", 0))), float(read_number(init.get("high", 1)))
        return lambda count: generator.uniform(low, high, count)
    if init["kind"] == "normal":
        mean, std = float(read_number(init.get("mean", 0))), float(read_number(init.get("std", 1)))
        return lambda count: generator.normal(mean, std, count)
    first, end = int(read_number(init["low"])), int(read_number(init["high"]))
    kind: Any = np.uint64 if end > _MAX_SIGNED else np.int64
    return lambda count: generator.integers(first, end, count, kind)


def _filled_on_threads(made: Array, init: dict[str, Any], dtype: str, threads: int) -> bool:
    """Fill `made` on several threads; return False if one must do it. Raises RuntimeError."""
    if init["kind"] != "uniform":
        source_of, draw_from = partial(_source_of, init), partial(_draw_from, init)
        return _fill_on_threads(made, source_of, draw_from, dtype, threads, PIECE)
    spans = list(_spans(made.size, threads))

    def fill(span: slice) -> None:
        source = _source_of(init)
        if span.start:
            source.advance(span.start // _DRAWS_A_STEP)
        _fill(made[span], _draw_from(init, source), dtype)

    with ThreadPoolExecutor(len(spans)) as pool:
        list(pool.map(fill, spans))
    return True


def _spans(count: int, number: int) -> Iterator[slice]:
    """Yield at most `number` slices of `count` elements, each starting at a `Philox` step."""
    length = -(-count // number)
    length += -length % _DRAWS_A_STEP
    for start in range(0, count, length):
        yield slice(start, min(start + length, count))


def _threads() -> int:
    """Return the number of threads that can run at once; 1 if the sandbox hides it."""
    try:
        return min(len(os.sched_getaffinity(0)), MAX_THREADS)
    except OSError:
        return 1


# Draws random elements on several threads, with the same bits as one thread.
#
# `normal` and `integers` reject some draws, so the offset of an element in the stream depends on
# all elements before it. Most elements take one draw, so a thread that starts at the wrong offset
# soon synchronises with the right sequence.
#
# Each thread starts at a separate offset and records where its first elements begin. The thread
# before it continues past that offset. If it stops where one of these elements begins, both would
# draw the same elements from there on. If not, one thread draws everything.


@dataclass(slots=True)
class _Stretch:
    """The elements that one thread draws from `begin` to `end`, in units of half a draw."""

    begin: int
    end: int
    rate: float
    dtype: str
    piece: int
    source: np.random.Philox
    draw: _Draw
    parts: list[Array]
    places: dict[int, int]
    """Number of elements before each of the first offsets."""

    def make(self) -> None:
        """Draw elements until the next would begin at `end` or later."""
        for made in range(_SINGLE):
            self.places[_place_of(self.source)] = made
            self._add(1)
        while (left := self.end - _place_of(self.source)) > 0:
            count = int(_SURE_PART * left / self.rate)
            self._add(min(self.piece, count) if count > _SINGLE else 1)

    def _add(self, count: int) -> None:
        self.parts.append(cast(self.draw(count), self.dtype))


def _fill_on_threads(
    made: Array, source_of: Callable[[], np.random.Philox], draw_from: _DrawFrom, dtype: str,
    threads: int, piece: int,
) -> bool:  # fmt: skip
    """Fill `made` as one call of `draw_from(source_of())` would.

    Return False if threads did not synchronise; then the caller must make that one call. Raises
    RuntimeError if no thread can start.
    """
    rate = _halves_an_element(source_of, draw_from)
    if rate <= 0:
        return False
    length = max(1, int(made.size * rate / threads) // _HALVES) * _HALVES
    stretches = [
        _stretch(source_of, draw_from, range(start, start + length), rate, dtype, piece)
        for start in range(0, length * threads, length)
    ]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(_Stretch.make, stretches))
        firsts = _firsts(stretches)
        return firsts is not None and _join(made, stretches, firsts, pool)


def _place_of(source: np.random.Philox) -> int:
    """Return the offset of a source in its stream, in units of half a draw."""
    state: Any = source.state
    low, high = (int(word) for word in state["state"]["counter"][:2])
    draws = _DRAWS_A_STEP * ((high << 64 | low) - 1) + int(state["buffer_pos"])
    return 2 * draws - int(state["has_uint32"])


def _halves_an_element(source_of: Callable[[], np.random.Philox], draw_from: _DrawFrom) -> float:
    source = source_of()
    draw_from(source)(_SAMPLE)
    return _place_of(source) / _SAMPLE


def _stretch(
    source_of: Callable[[], np.random.Philox], draw_from: _DrawFrom, halves: range, rate: float,
    dtype: str, piece: int,
) -> _Stretch:  # fmt: skip
    source = source_of()
    if halves.start:
        source.advance(halves.start // _HALVES)
    draw = draw_from(source)
    return _Stretch(halves.start, halves.stop, rate, dtype, piece, source, draw, [], {})


def _firsts(stretches: list[_Stretch]) -> list[int] | None:
    """Return the first valid element of each stretch; None if two did not synchronise."""
    firsts = [0]
    for stretch, following in pairwise(stretches):
        first = following.places.get(_place_of(stretch.source))
        if first is None:
            return None
        firsts.append(first)
    return firsts


def _join(
    made: Array, stretches: list[_Stretch], firsts: list[int], pool: ThreadPoolExecutor
) -> bool:
    """Copy all stretches into `made`; draw the rest after the end of the last one."""
    starts, at = [], 0
    for stretch, first in zip(stretches, firsts, strict=True):
        starts.append(at - first)
        at += sum(part.size for part in stretch.parts) - first

    def copy(stretch: _Stretch, start: int, first: int) -> None:
        for part in stretch.parts:
            kept = part[max(0, first) : max(0, made.size - start)]
            made[start + max(0, first) : start + max(0, first) + kept.size] = kept
            start, first = start + part.size, first - part.size

    list(pool.map(copy, stretches, starts, firsts))
    last = stretches[-1]
    while at < made.size:
        rest = cast(last.draw(min(last.piece, made.size - at)), last.dtype)
        made[at : at + rest.size] = rest
        at += rest.size
    return True
