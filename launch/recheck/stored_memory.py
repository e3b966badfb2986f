"""Small buffers with bytes, in which two kernels store what is then compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.access import AccessForm
from launch.checks.addresses import SLOT_BITS
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.recheck.access_memory import address_of, of_rank
from launch.recheck.kernel_form import NotRunnable

Shape = tuple[int, ...]
_ATOMIC = "two kernels with atomic operations"


class StoredMemory:
    """Loads, stores and atomics, as `launch.cpu.kernel` calls them. Lanes outside do nothing."""

    def __init__(self, programs: ProgramInstances) -> None:
        self._programs = programs
        self._buffers: Sequence[Array] = ()

    def begin(self, buffers: Mapping[str, Array]) -> None:
        """Start a launch whose buffers have these bytes, which it changes."""
        self._buffers = list(buffers.values())

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return what is stored, `other` (or 0) where `mask` is false."""
        wide = self._wide(shape)
        loaded = np.zeros(wide, pointer.dtype)
        if other is not None:
            loaded[...] = of_rank(np.atleast_1d(other), len(wide)).astype(pointer.dtype)
        for buffer, lanes, places in self._located(pointer, mask, wide):
            loaded[lanes] = buffer[places].view(pointer.dtype)[..., 0]
        return loaded

    def store(
        self,
        pointer: Pointer,
        value: Any,
        mask: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> None:
        """Store a value; of equal addresses, the last one stays."""
        wide = self._wide(shape)
        stored = np.atleast_1d(np.asarray(value).astype(pointer.dtype))
        values = np.broadcast_to(of_rank(stored, len(wide)), wide)
        for buffer, lanes, places in self._located(pointer, mask, wide):
            chosen = np.ascontiguousarray(values[lanes])[..., None]
            buffer[places] = chosen.view(np.uint8).reshape(places.shape)

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
        """Refuse it: two kernels with atomic operations are not compared."""
        raise NotRunnable(_ATOMIC)

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
        """Refuse it."""
        raise NotRunnable(_ATOMIC)

    def _wide(self, shape: Shape) -> Shape:
        return (self._programs.count, *shape)

    def _located(
        self, pointer: Pointer, mask: Any, wide: Shape
    ) -> list[tuple[Array, Array, Array]]:
        """Return for each buffer its bytes, its live lanes, and the places of their bytes."""
        rank = len(wide)
        live = np.broadcast_to(True, wide)
        if mask is not None:
            live = live & of_rank(np.atleast_1d(mask), rank)
        active = self._programs.active
        if active is not None:
            live = live & active.reshape(-1, *(1,) * (rank - 1))
        addresses = np.broadcast_to(of_rank(pointer.address, rank), wide)
        numbers = (addresses >> SLOT_BITS) - 1
        size = pointer.dtype.itemsize
        places = []
        for number, buffer in enumerate(self._buffers):
            offsets = addresses - address_of(number)
            lanes = live & (numbers == number) & (offsets >= 0) & (offsets <= len(buffer) - size)
            if lanes.any():
                places.append((buffer, lanes, offsets[lanes][:, None] + np.arange(size)))
        return places
