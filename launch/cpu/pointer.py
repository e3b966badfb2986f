"""Pointers of a run form: made-up addresses of `AddressSpace`, lane by lane, never dereferenced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from launch.buffers.element_types import Array

_WORD = 1 << 64


class Pointer:
    """Addresses: `origin` in bytes, the same for all lanes, and `offset` times `unit` bytes.

    `offset` is an array of integers with the leading axis of programs, `None` for 0 everywhere.
    Where a kernel adds elements to an argument, `origin` is the argument's address and `unit` the
    size of an element, so that `offset` is an index and nothing has to be divided. Addresses that
    came another way have the origin 0 and the unit 1.
    """

    __slots__ = ("dtype", "offset", "origin", "unit")

    def __init__(self, address: int | Array, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.origin, self.offset, self.unit = 0, None, 1
        if isinstance(address, int):
            self.origin, self.unit = address, self.dtype.itemsize
        else:
            self.offset = address

    @property
    def address(self) -> Array:
        """Return every lane's address as int64; without an offset it is of shape (1,)."""
        if self.offset is None:
            return np.array([_signed(self.origin)])
        found = self.offset.astype(np.int64)
        if self.unit != 1:
            found *= self.unit
        return found + _signed(self.origin) if self.origin else found

    def __add__(self, offset: Any) -> Pointer:
        """Return the pointer `offset` elements further on."""
        if self.unit != self.dtype.itemsize:
            step = np.multiply(offset, self.dtype.itemsize, dtype=np.int64)
            return self._at(np.add(self.address, step), unit=1, origin=0)
        if self.offset is None:
            return self._at(offset if isinstance(offset, np.ndarray) else np.array([offset]))
        return self._at(np.add(self.offset, offset, dtype=np.int64))

    def __getitem__(self, index: Any) -> Pointer:
        """Return the pointer with its axes indexed; one address for all lanes stays as it is."""
        return self if self.offset is None else self._at(self.offset[index])

    def cast(self, dtype: Any) -> Pointer:
        """Return the same addresses of elements of another type."""
        dtype = np.dtype(dtype)
        found = self._at(self.offset)
        found.dtype = dtype
        if self.offset is None:
            found.unit = dtype.itemsize
        return found

    def mapped(self, change: Callable[[Array], Array], rank: int) -> Pointer:
        """Return the pointer with its lanes, of `rank` axes after the leading one, changed."""
        offset = np.zeros((1,) * (rank + 1), np.int32) if self.offset is None else self.offset
        return self._at(change(offset))

    def _at(self, offset: Any, unit: int | None = None, origin: int | None = None) -> Pointer:
        found = object.__new__(Pointer)
        found.dtype, found.offset = self.dtype, offset
        found.unit = self.unit if unit is None else unit
        found.origin = self.origin if origin is None else origin
        return found


def merged(choose: Callable[[Array, Array], Array], a: Pointer, b: Pointer) -> Pointer:
    """Return the pointer whose lanes `choose` takes from those of `a` and `b`."""
    if a.origin == b.origin and a.unit == b.unit and a.offset is not None and b.offset is not None:
        return a._at(choose(a.offset, b.offset))
    return Pointer(choose(a.address, b.address), a.dtype)


def _signed(address: int) -> int:
    return address - _WORD if address >= _WORD >> 1 else address
