"""The memory of a re-check: buffers with extents and no bytes, for many programs at once.

Every access is checked at once and noted; none is performed. An access is known by the line of the
run form that it comes from, so two accesses of one place in the source are not confused.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ttir_to_numpy.batched_codegen import RUN_FILE
from launch.buffers.element_types import Array
from launch.checks.access import AccessForm
from launch.checks.addresses import SLOT_BITS
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances, RoundsSpent
from launch.recheck.buffer_contents import BufferContents

Shape = tuple[int, ...]
_MIDDLE = 1 << (SLOT_BITS - 1)
_NO_OFFSET = np.zeros(1, np.int64)


@dataclass(frozen=True)
class WatchedBuffer:
    """A buffer of `size` elements that have `width` bytes each."""

    name: str
    size: int
    width: int


@dataclass(frozen=True)
class ReachedElements:
    """One access of a batch of programs. Arrays broadcast to the programs and the tile's shape."""

    access: int
    """Its number among the accesses of the kernel."""
    buffer: int | Array
    """The number of the buffer; -1 for an address in none."""
    elements: Array
    live: Array | None
    """The lanes that access memory, perhaps none; None for all."""
    shape: Shape


@dataclass(frozen=True)
class BegunTurn:
    """A turn of a loop that a batch of programs begins; a `while` begins it with its condition."""

    operation: int
    """The number of the operation that the turn begins with."""
    active: Array | None
    """The programs that are in the loop; None for all."""


Event = ReachedElements | BegunTurn


@dataclass(frozen=True)
class Outside:
    """A live lane beyond its buffer."""

    buffer: str
    element: int
    size: int
    program: int
    """The place of its program in the batch."""


class AccessMemory:
    """Loads, stores and atomics, as `launch.cpu.kernel` calls them.

    `accesses` has the number of the access of each line, `operations` that of the operation. Only
    loads whose number is `needed` give values. Where `is_exact`, integers have 64 bits.
    """

    def __init__(
        self,
        programs: ProgramInstances,
        accesses: Mapping[int, int],
        operations: Sequence[int],
        needed: frozenset[int],
        *,
        is_exact: bool,
    ) -> None:
        self._programs, self._accesses, self._needed = programs, accesses, needed
        self._operations = operations
        self._is_exact = is_exact
        self._buffers: Sequence[WatchedBuffer] = ()
        self._sizes = self._widths = _NO_OFFSET
        self._contents = BufferContents()
        self._left = 0
        self.trace: list[Event] = []
        self.reached: set[int] = set()
        """The accesses that had a live lane."""
        self.outside: dict[int, Outside] = {}
        """The first live lane of each access that is beyond its buffer."""

    def begin(self, buffers: Sequence[WatchedBuffer], contents: BufferContents, most: int) -> None:
        """Start a launch of at most `most` accesses."""
        self._buffers, self._contents, self._left = buffers, contents, most
        self._sizes = sizes_of(buffers)
        self._widths = np.array([buffer.width for buffer in buffers] + [1], np.int64)
        self.trace, self.reached, self.outside = [], set(), {}

    def begin_turn(self) -> None:
        """Note that a turn of a loop begins."""
        operation = self._operations[_line_here() - 1]
        self.trace.append(BegunTurn(operation, self._programs.active))

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return what the buffer's contents are, `other` where `mask` is false."""
        touch = self._touch(pointer, mask, shape)
        is_wide = self._is_exact and pointer.dtype.kind in "iu"
        dtype = np.dtype(np.int64) if is_wide else pointer.dtype
        if touch.access not in self._needed:
            return np.broadcast_to(np.zeros(1, dtype).reshape((1,) * (len(shape) + 1)), (1, *shape))
        # what all programs load alike has one entry for all
        count = max(len(touch.elements), 1 if touch.live is None else len(touch.live))
        values = self._values(touch, pointer.dtype).astype(dtype)
        loaded = np.broadcast_to(values, (count, *shape))
        if touch.live is None:
            return loaded
        rest = self._contents.undefined(pointer.dtype) if other is None else other
        return np.where(touch.live, loaded, of_rank(np.atleast_1d(rest), loaded.ndim).astype(dtype))

    def store(
        self,
        pointer: Pointer,
        value: Any,
        mask: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> None:
        """Note a store."""
        self._touch(pointer, mask, shape)

    def atomic(
        self,
        kind: str,
        pointer: Pointer,
        value: Any,
        mask: Any,
        shape: Shape,
        is_used: bool,
        *,
        semantics: str | None = None,
        within_program: bool = False,
        form: AccessForm | None = None,
    ) -> Any:
        """Note an atomic operation; it meets what the buffer's contents are."""
        touch = self._touch(pointer, mask, shape)
        if not is_used:
            return None
        return np.broadcast_to(self._values(touch, pointer.dtype), self._wide(touch))

    def compare_and_swap(
        self,
        pointer: Pointer,
        expected: Any,
        value: Any,
        shape: Shape,
        *,
        semantics: str | None = None,
        within_program: bool = False,
    ) -> Array:
        """Note one; it meets what the buffer's contents are."""
        touch = self._touch(pointer, None, shape)
        return np.broadcast_to(self._values(touch, pointer.dtype), self._wide(touch))

    def _values(self, touch: ReachedElements, dtype: np.dtype[Any]) -> Array:
        contents = self._contents
        if isinstance(touch.buffer, int):
            name = self._buffers[touch.buffer].name if touch.buffer >= 0 else ""
            return contents.values(name, touch.elements, dtype)
        values = contents.values("", touch.elements, dtype).copy()
        for number, buffer in enumerate(self._buffers):
            here = touch.buffer == number
            values[here] = contents.values(buffer.name, touch.elements[here], dtype)
        return values

    def _wide(self, touch: ReachedElements) -> Shape:
        return (self._programs.count, *touch.shape)

    def _touch(self, pointer: Pointer, mask: Any, shape: Shape) -> ReachedElements:
        self._left -= 1
        if self._left < 0:
            raise RoundsSpent
        buffer, elements = self._located(pointer)
        rank = len(shape) + 1
        live = None if mask is None else of_rank(np.atleast_1d(mask), rank)
        active = self._programs.active
        if active is not None:
            running = active.reshape(-1, *(1,) * len(shape))
            live = running if live is None else live & running
        elements = of_rank(elements, rank)
        if not isinstance(buffer, int):
            buffer = of_rank(buffer, rank)
        if live is not None and live.all():
            live = None
        access = self._accesses.get(_line_here(), -1)
        touch = ReachedElements(access, buffer, elements, live, shape)
        self.trace.append(touch)
        if live is None or live.any():
            self.reached.add(touch.access)
            if touch.access not in self.outside:
                outside = outside_of(touch, self._buffers, self._sizes)
                if outside is not None:
                    self.outside[touch.access] = outside
        return touch

    def _located(self, pointer: Pointer) -> tuple[int | Array, Array]:
        """Return the buffers of a pointer's lanes, and their elements."""
        number = (pointer.origin >> SLOT_BITS) - 1
        if 0 <= number < len(self._buffers):
            offset = _NO_OFFSET if pointer.offset is None else pointer.offset.astype(np.int64)
            width = self._buffers[number].width
            return number, offset if pointer.unit == width else offset * pointer.unit // width
        addresses = pointer.address
        numbers = (addresses >> SLOT_BITS) - 1
        numbers = np.where((numbers >= 0) & (numbers < len(self._buffers)), numbers, -1)
        first = ((numbers + 1) << SLOT_BITS) + _MIDDLE
        return numbers, (addresses - first) // self._widths[numbers]


def sizes_of(buffers: Sequence[WatchedBuffer]) -> Array:
    """Return the number of elements of each buffer, then 0 for memory in none."""
    return np.array([buffer.size for buffer in buffers] + [0], np.int64)


def outside_of(
    touch: ReachedElements, buffers: Sequence[WatchedBuffer], sizes: Array
) -> Outside | None:
    """Return the first live lane of an access that is beyond its buffer."""
    wrong = (touch.elements < 0) | (touch.elements >= sizes[touch.buffer])
    if touch.live is not None:
        wrong = wrong & touch.live
    if not wrong.any():
        return None
    at = tuple(int(place) for place in np.argwhere(wrong)[0])
    lane = tuple(min(place, size - 1) for place, size in zip(at, touch.elements.shape, strict=True))
    number = touch.buffer
    if not isinstance(number, int):
        number = int(number[tuple(min(a, b - 1) for a, b in zip(at, number.shape, strict=True))])
    known = buffers[number] if number >= 0 else WatchedBuffer("no buffer", 0, 1)
    return Outside(known.name, int(touch.elements[lane]), known.size, at[0])


def _line_here() -> int:
    """Return the line of the run form that runs; 0 outside of it."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != RUN_FILE:
        frame = frame.f_back  # type: ignore[assignment]
    return 0 if frame is None else frame.f_lineno


def address_of(number: int) -> int:
    """Return the address of the first byte of a buffer."""
    return ((number + 1) << SLOT_BITS) + _MIDDLE


def of_rank(lanes: Array, rank: int) -> Array:
    """Return lanes with a leading axis of programs and `rank` axes in all."""
    if lanes.ndim == rank:
        return lanes
    return lanes.reshape(len(lanes), *(1,) * (rank - lanes.ndim), *lanes.shape[1:])
