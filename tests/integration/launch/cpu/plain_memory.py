"""A memory for run forms that checks nothing but bounds: what the checked one is held against."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.numpy_module.support.memory import ATOMICS
from launch.cpu.pointer import Pointer
from launch.cpu.programs import Programs

SLOT = 1 << 40
MIDDLE = SLOT >> 1


class PlainMemory:
    """The arrays of a launch, one slot of addresses each, as `AddressSpace` has them."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._arrays: list[Any] = []

    def pointer(self, array: Any, dtype: Any) -> Pointer:
        """The pointer to the first element of a contiguous array, which is changed in place."""
        self._arrays.append(array.reshape(-1).view(np.uint8))
        return Pointer((len(self._arrays) << 40) + MIDDLE, dtype)

    def load(self, pointer, mask=None, other=None, shape=(), *, way=None) -> Any:
        address, lanes, rank = pointer.address, mask, len(shape) + 1
        lanes = self._lanes(True if mask is None else mask, rank)
        parts = [np.shape(part) for part in (address, lanes, 0 if other is None else other)]
        full = np.broadcast_shapes(*parts)
        value = np.array(np.broadcast_to(0 if other is None else other, full), pointer.dtype)
        if mask is not None and other is not None and not np.all(mask):
            value = np.where(mask, pointer.dtype.type(0), value)
        address, lanes = np.broadcast_to(address, full), np.broadcast_to(lanes, full)
        for array, index, chosen in self._places(address, lanes, pointer.dtype):
            value[chosen] = array[index]
        return value

    def store(self, pointer, value, mask=None, shape=(), *, way=None) -> None:
        lanes = self._lanes(True if mask is None else mask, len(shape) + 1)
        address, value = pointer.address, np.asarray(value)
        full = np.broadcast_shapes(address.shape, lanes.shape, value.shape, (1, *shape))
        address, lanes, values = (np.broadcast_to(part, full) for part in (address, lanes, value))
        for array, index, chosen in self._places(address, lanes, pointer.dtype):
            array[index] = values[chosen]

    def atomic(
        self, kind, pointer, value, mask, shape, is_used, *, semantics=None, way=None
    ) -> Any:
        full = (self._programs.count, *shape)
        lanes = self._lanes(True if mask is None else mask, len(shape) + 1)
        before = np.zeros(full, pointer.dtype)
        address, lanes, values = (
            np.broadcast_to(part, full) for part in (pointer.address, lanes, value)
        )
        for at in np.ndindex(*full):
            for array, index, _ in self._places(address[at][None], lanes[at][None], pointer.dtype):
                before[at] = array[index][0]
                array[index] = ATOMICS[kind](array[index], values[at])
        return before

    def compare_and_swap(self, pointer, expected, value, shape, *, semantics=None) -> Any:
        full = (self._programs.count, *shape)
        lanes = self._lanes(True, len(shape) + 1)
        before = np.zeros(full, pointer.dtype)
        address, lanes, wanted, values = (
            np.broadcast_to(part, full) for part in (pointer.address, lanes, expected, value)
        )
        for at in np.ndindex(*full):
            for array, index, _ in self._places(address[at][None], lanes[at][None], pointer.dtype):
                before[at] = array[index][0]
                if before[at] == wanted[at]:
                    array[index] = values[at]
        return before

    def _lanes(self, mask, rank) -> Any:
        active = self._programs.active
        mask = np.asarray(mask)
        return mask if active is None else mask & active.reshape(-1, *[1] * (rank - 1))

    def _places(self, address, lanes, dtype) -> Any:
        chosen = address[lanes]
        for slot in np.unique(chosen >> 40).tolist():
            mine = chosen >> 40 == slot
            data = self._arrays[slot - 1]
            array = data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype)
            index, rest = np.divmod(chosen[mine] - (slot << 40) - MIDDLE, dtype.itemsize)
            if rest.any() or (index < 0).any() or (index >= array.size).any():
                message = f"element {index.min()} to {index.max()} of argument {slot - 1}"
                raise IndexError(message)
            some = np.zeros(address.shape, np.bool_)
            some[lanes] = mine
            yield array, index, some
