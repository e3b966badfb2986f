"""The program that accessed each element of an allocation, for fast checks of many programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from launch.buffers.element_types import Array

_NOBODY = -1


class Suspected(BaseException):
    """Something may be wrong with what `programs` do at once. No kernel can catch it.

    These are their numbers, as far as they are known.
    """

    def __init__(self, programs: Sequence[int] = ()) -> None:
        super().__init__()
        self.programs = programs


class Owners:
    """The numbers of programs in tables, from `floor` on; smaller ones are forgotten.

    Two of them are no program's: that of atomic operations, and that of several programs at once.
    """

    def __init__(self, floor: int, programs: Array) -> None:
        """Take the programs as numbers from 0 on."""
        self.floor, self.atomics, self.several = floor, floor, floor + 1
        self.of_programs = (programs + (floor + 2)).astype(np.int32)

    def numbers(self, owners: Iterable[int]) -> list[int]:
        """Return the numbers of those of `owners` that are programs."""
        return [owner - self.floor - 2 for owner in owners if owner >= self.floor + 2]


class OwnerTable:
    """One owner for each element: the last program, unless a relevant other one accessed it."""

    def __init__(self, count: int) -> None:
        self._owners = np.full(count, _NOBODY, np.int32)

    def check(self, cells: Array, owner: Array | int, owners: Owners) -> None:
        """Raise `Suspected` where another one than `owner` was; several are never alike."""
        found = self._owners.take(cells)
        if found.max(initial=_NOBODY) < owners.floor:
            return
        strangers = (found >= owners.floor) & ((found != owner) | (found == owners.several))
        if strangers.any():
            met = [np.broadcast_to(known, strangers.shape)[strangers] for known in (found, owner)]
            raise Suspected(owners.numbers(int(known[0]) for known in met))

    def put(self, cells: Array, owner: Array | int) -> None:
        """Remember the owner of cells."""
        self._owners[cells] = owner

    def put_all(self, cells: Array, owner: Array | int, owners: Owners) -> None:
        """Remember the owner of cells; those that are given to different ones have several."""
        self._owners[cells] = owner
        mixed = self._owners.take(cells) != owner
        if mixed.any():
            self._owners[np.broadcast_to(cells, mixed.shape)[mixed]] = owners.several

    def share(self, cells: Array, owner: Array | int, owners: Owners) -> None:
        """Remember the owner of cells; those that have another one, too, have several then."""
        before = self._owners.take(cells)
        self._owners[cells] = owner
        mixed = (before >= owners.floor) & (before != owner)
        mixed |= self._owners.take(cells) != owner
        if mixed.any():
            self._owners[np.broadcast_to(cells, mixed.shape)[mixed]] = owners.several
