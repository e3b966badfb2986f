"""Pointers of a run form: virtual addresses of `AddressSpace` for each lane, never dereferenced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from launch.buffers.element_types import Array

_WORD = 1 << 64


class Pointer:
    """Addresses: `origin` in bytes, the same for all lanes, plus `offset` times `unit` bytes.

    If a kernel adds elements to an argument, `origin` is the argument's address and `unit` the size
    of an element. An offset is then an index, without a division. A pointer that was cast and then
    moved has the unit 1; other addresses have the origin 0. Two integer sums with the leading axis
    of programs make up the offset: `across` is constant along the last axis of a tile, `along` is
    not; `None` is 0. The starts of a tile's rows are thus known without a check of each lane.
    """

    __slots__ = ("_offset", "across", "along", "dtype", "origin", "unit")

    def __init__(self, address: int | Array, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.origin, self.unit = 0, 1
        self.across: Array | None = None
        self.along: Array | None = None
        self._offset: Array | None = None
        if isinstance(address, int):
            self.origin, self.unit = address, self.dtype.itemsize
        else:
            self._keep(address)

    @property
    def offset(self) -> Array | None:
        """Return every lane's offset, `None` if it is 0 for all."""
        if self._offset is None:
            self._offset = _sum(self.across, self.along)
        return self._offset

    @property
    def address(self) -> Array:
        """Return every lane's address as int64, of shape (1,) if there is no offset."""
        offset = self.offset
        if offset is None:
            return np.array([_signed(self.origin)])
        address = offset.astype(np.int64)
        if self.unit != 1:
            address *= self.unit
        return address + _signed(self.origin) if self.origin else address

    @property
    def rank(self) -> int:
        """Return the number of the lanes' axes, including the leading one."""
        return max(part.ndim for part in (self.across, self.along, _NO_LANES) if part is not None)

    @property
    def count(self) -> int:
        """Return the length of the lanes' leading axis."""
        return max(len(part) for part in (self.across, self.along, _NO_LANES) if part is not None)

    def __add__(self, offset: Any) -> Pointer:
        """Return the pointer moved by `offset` elements."""
        step = offset if isinstance(offset, np.ndarray) else np.array([offset])
        if step.ndim < self.rank:  # the same for all lanes of a program
            step = step.reshape(len(step), *(1,) * (self.rank - 1))
        size, parts = self.dtype.itemsize, (self.across, self.along)
        if self.unit == size:
            return self._at(*parts, step)
        octets = [None if part is None else _times(part, self.unit) for part in parts]
        return self._at(*octets, _times(step, size), unit=1)

    def __getitem__(self, index: Any) -> Pointer:
        """Return the pointer with its axes indexed; a single address for all lanes is unchanged."""
        if self.across is None and self.along is None:
            return self
        parts = (self.across, self.along)
        return self._at(*[None if part is None else part[index] for part in parts])

    def cast(self, dtype: Any) -> Pointer:
        """Return the same addresses with another element type."""
        dtype = np.dtype(dtype)
        pointer = self._at(self.across, self.along)
        pointer.dtype = dtype
        if self.across is None and self.along is None:
            pointer.unit = dtype.itemsize
        return pointer

    def mapped(self, change: Callable[[Array], Array], rank: int) -> Pointer:
        """Return the pointer with lanes that `change` gives `rank` axes after the leading one."""
        offset = np.zeros((1,) * (rank + 1), np.int32) if self.offset is None else self.offset
        return self._at(change(offset))

    def _at(self, *parts: Array | None, unit: int | None = None) -> Pointer:
        pointer = object.__new__(Pointer)
        pointer.dtype, pointer.across, pointer.along, pointer._offset = self.dtype, None, None, None
        pointer.unit = self.unit if unit is None else unit
        pointer.origin = self.origin
        for part in parts:
            if part is not None:
                pointer._keep(part)
        return pointer

    def _keep(self, part: Array) -> None:
        if part.ndim > 1 and part.shape[-1] > 1:
            self.along = _sum(self.along, part)
        else:
            self.across = _sum(self.across, part)


_NO_LANES = np.zeros(1, np.int32)


def merged(choose: Callable[[Array, Array], Array], a: Pointer, b: Pointer) -> Pointer:
    """Return a pointer whose lanes `choose` selects from `a` and `b`."""
    if a.origin == b.origin and a.unit == b.unit:
        if a.along is b.along and a.across is not None and b.across is not None:
            return a._at(choose(a.across, b.across), a.along)
        if a.offset is not None and b.offset is not None:
            return a._at(choose(a.offset, b.offset))
    return Pointer(choose(a.address, b.address), a.dtype)


def _sum(a: Array | None, b: Array | None) -> Array | None:
    if a is None or b is None:
        return b if a is None else a
    total: Array = np.add(a, b, dtype=np.int64)
    return total


def _times(part: Array, size: int) -> Array:
    product: Array = np.multiply(part, size, dtype=np.int64)
    return product


def _signed(address: int) -> int:
    return address - _WORD if address >= _WORD >> 1 else address
