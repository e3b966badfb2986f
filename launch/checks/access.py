"""One memory access of a block, before any check or effect."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.addresses import Slot


class Access(StrEnum):
    """An operation of a kernel at an address."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"

    @property
    def direction(self) -> Literal["read", "write"]:
        """The field `access` of a finding."""
        return "read" if self is Access.LOAD else "write"


class Way(Enum):
    """The properties of an access."""

    UNMASKED = "unmasked"
    MASKED = "masked"
    DESCRIPTOR = "descriptor"


@dataclass(frozen=True)
class Touch:
    """A load, store or atomic operation of `size` bytes at each of `pointers`."""

    access: Access
    pointers: Array
    size: int
    values: Array | None = None
    """The stored values; their shape is that of `pointers` or broadcasts to it."""
    semantics: str | None = None
    """Triton's name of the memory semantics, `None` for non-atomic accesses."""
    way: Way = Way.UNMASKED


@dataclass(frozen=True)
class Lanes:
    """The unmasked lanes of an access that are in the memory of one argument."""

    touch: Touch
    slot: Slot
    live: Array | None
    """The active pointers, `None`: all of them."""

    @property
    def addresses(self) -> Array:
        """The addresses of these lanes, in order."""
        return self._chosen(self.touch.pointers)

    @property
    def offsets(self) -> Array:
        """The offsets of these lanes in bytes, from the start of the memory."""
        return (self.addresses - np.uint64(self.slot.first)).astype(np.int64)

    def cells(self, size: int) -> Array:
        """Return each lane's cell: its number in units of `size` bytes from the start."""
        return self.offsets // size

    @property
    def values(self) -> Array | None:
        """The values that these lanes store."""
        values, pointers = self.touch.values, self.touch.pointers
        if values is None:
            return None
        return self._chosen(np.broadcast_to(values, pointers.shape))

    def _chosen(self, blocks: Array) -> Array:
        return blocks.reshape(-1) if self.live is None else blocks[self.live]
