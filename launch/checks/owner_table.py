"""Records which program accessed each element, for race screens of many programs at once."""

from collections.abc import Iterable, Sequence

import numpy as np

from launch.buffers.element_types import Array

_NOBODY = -1


class PossibleRace(BaseException):
    """A possible race between `programs`. Not an `Exception`, so that no kernel can catch it.

    `programs` are their numbers, as far as they are known.
    """

    def __init__(self, programs: Sequence[int] = ()) -> None:
        super().__init__()
        self.programs = programs


class Owners:
    """Owner numbers of programs in tables, from `floor` on; smaller numbers are expired.

    Two numbers have a special meaning: atomic operations, and several programs at once.
    """

    def __init__(self, floor: int, programs: Array) -> None:
        """Assign owner numbers to `programs`, given as numbers from 0 on."""
        self.floor, self.atomics, self.several = floor, floor, floor + 1
        self.of_programs = (programs + (floor + 2)).astype(np.int32)

    def numbers(self, owners: Iterable[int]) -> list[int]:
        """Return the program numbers of those `owners` that are programs."""
        return [owner - self.floor - 2 for owner in owners if owner >= self.floor + 2]


class OwnerTable:
    """One owner per element: its last program, or the mark for several programs."""

    def __init__(self, count: int) -> None:
        self._owners = np.full(count, _NOBODY, np.int32)

    def check(self, cells: Array, owner: Array | int, owners: Owners) -> None:
        """Raise `PossibleRace` if a cell has another owner; the mark for several always differs."""
        known_owners = self._owners.take(cells)
        if known_owners.max(initial=_NOBODY) < owners.floor:
            return
        strangers = (known_owners >= owners.floor) & (
            (known_owners != owner) | (known_owners == owners.several)
        )
        if strangers.any():
            met = [
                np.broadcast_to(known, strangers.shape)[strangers]
                for known in (known_owners, owner)
            ]
            raise PossibleRace(owners.numbers(int(known[0]) for known in met))

    def put(self, cells: Array, owner: Array | int) -> None:
        """Set the owner of cells."""
        self._owners[cells] = owner

    def put_all(self, cells: Array, owner: Array | int, owners: Owners) -> None:
        """Set the owners of cells; mark cells with different owners as owned by several."""
        self._owners[cells] = owner
        mixed = self._owners.take(cells) != owner
        if mixed.any():
            self._owners[np.broadcast_to(cells, mixed.shape)[mixed]] = owners.several

    def share(self, cells: Array, owner: Array | int, owners: Owners) -> None:
        """Add an owner to cells; mark cells that had another owner as owned by several."""
        before = self._owners.take(cells)
        self._owners[cells] = owner
        mixed = (before >= owners.floor) & (before != owner)
        mixed |= self._owners.take(cells) != owner
        if mixed.any():
            self._owners[np.broadcast_to(cells, mixed.shape)[mixed]] = owners.several
