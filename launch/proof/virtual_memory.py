"""Memory of a replay that has extents but no bytes: every access is checked, none is stored.

So a kernel runs at sizes that no machine has memory for. Loads give the witness's values where it
has some, and values of the buffer's range elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from launch.buffers.allocation import Leaf
from launch.buffers.element_types import Array
from launch.checks.access import Access, AccessForm
from launch.checks.addresses import SLOT_BITS
from launch.checks.checked_memory import TooManyAccesses
from launch.checks.finding import KernelLocation
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances

Shape = tuple[int, ...]
_MIDDLE = 1 << (SLOT_BITS - 1)
_SPREAD = 0x9E3779B1
"""A prime, so that neighbouring elements hold values far apart."""


@dataclass(frozen=True)
class TouchedElement:
    """One access of the replay: elements of a buffer, None where its address is in none."""

    access: Access
    location: KernelLocation
    argument: str | None
    elements: Array
    """Per lane, in the shape of the access."""
    live: Array
    size: int
    operation: int = -1
    """Its number in the TTIR."""

    def outside(self) -> int | None:
        """Return the first element beyond the buffer that a live lane touches, None if none."""
        wrong = (self.elements < 0) | (self.elements >= self.size)
        chosen = self.elements[wrong & self.live]
        return int(chosen.flat[0]) if chosen.size else None


@dataclass(frozen=True)
class _Slot:
    name: str
    first: int
    elements: int
    width: int


class VirtualSpace:
    """Addresses of buffers, a terabyte apart."""

    def __init__(self, extents: Mapping[str, int], widths: Mapping[str, int]) -> None:
        self._extents, self._widths = extents, widths
        self._slots: list[_Slot] = []

    def place(self, leaf: Leaf) -> int:
        """Give a buffer its addresses; return the first."""
        first = ((len(self._slots) + 1) << SLOT_BITS) + _MIDDLE
        name = leaf.name
        self._slots.append(_Slot(name, first, self._extents[name], self._widths[name]))
        return first

    def slot_of(self, address: int) -> _Slot | None:
        """Return the buffer whose terabyte has an address."""
        position = (address >> SLOT_BITS) - 1
        return self._slots[position] if 0 <= position < len(self._slots) else None


class VirtualMemory:
    """Loads, stores and atomics of one program, as `launch.cpu.kernel` calls them."""

    def __init__(
        self,
        programs: ProgramInstances,
        space: VirtualSpace,
        location: Callable[[], KernelLocation],
        values: Mapping[str, Mapping[int, int]],
        fill: Mapping[str, range],
        most_accesses: int,
        operation: Callable[[], int],
    ) -> None:
        self._programs, self._space, self._location = programs, space, location
        self._operation = operation
        self._values, self._fill = values, fill
        self._left = most_accesses
        self.touched: list[TouchedElement] = []

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return values of the witness, `other` (or 0) where `mask` is false."""
        touched = self._touch(Access.LOAD, pointer, mask, shape)
        values = np.zeros((1, *shape), pointer.dtype)
        if other is not None:
            values[...] = np.broadcast_to(np.asarray(other), values.shape).astype(pointer.dtype)
        name = touched.argument
        if name is not None and touched.live.any():
            if name in self._fill:
                within = _spread(touched.elements[touched.live], self._fill[name])
                values[touched.live] = within.astype(pointer.dtype)
            else:
                values[touched.live] = 0
            for element, value in self._values.get(name, {}).items():
                here = touched.live & (touched.elements == element)
                values[here] = np.asarray(value).astype(pointer.dtype)
        return values != 0 if pointer.dtype.kind == "b" else values

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
        self._touch(Access.STORE, pointer, mask, shape)

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
        """Note an atomic operation; what it returns is 0."""
        self._touch(Access.ATOMIC, pointer, mask, shape)
        return np.zeros((1, *shape), pointer.dtype) if is_used else None

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
        """Note one; what it returns is 0."""
        self._touch(Access.ATOMIC, pointer, None, shape)
        return np.zeros((1, *shape), pointer.dtype)

    def _touch(self, access: Access, pointer: Pointer, mask: Any, shape: Shape) -> TouchedElement:
        self._left -= 1
        if self._left < 0:
            raise TooManyAccesses
        wide = (1, *shape)
        addresses = np.broadcast_to(pointer.address, wide)
        live = np.broadcast_to(True if mask is None else np.asarray(mask), wide)
        active = self._programs.active
        if active is not None and not active.all():
            live = np.zeros(wide, np.bool_)
        at = pointer.origin or int(addresses[live].flat[0] if live.any() else 0)
        slot = self._space.slot_of(at)
        name, elements, size = None, addresses, 0
        if slot is not None:
            elements = (addresses - slot.first) // slot.width
            name, size = slot.name, slot.elements
        element = TouchedElement(
            access, self._location(), name, elements, live, size, self._operation()
        )
        if live.any():
            self.touched.append(element)
        return element


def _spread(elements: Array, values: range) -> Array:
    """Return a value of a range for each element, the same one each time."""
    at = elements.astype(np.uint64) * np.uint64(_SPREAD) % np.uint64(len(values))
    return at.astype(np.int64) + values.start
