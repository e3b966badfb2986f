"""One access of a block to memory, as it is asked for: nothing was checked or touched yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.addresses import Slot


class Access(StrEnum):
    """What a kernel does at an address."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"

    @property
    def direction(self) -> Literal["read", "write"]:
        """The field `access` of a finding."""
        return "read" if self is Access.LOAD else "write"


class Way(Enum):
    """How a kernel makes an access."""

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
    """What a store writes; its shape is that of `pointers` or spreads to it."""
    semantics: str | None = None
    """Triton's name of the memory semantics, `None` for what is not atomic."""
    way: Way = Way.UNMASKED


@dataclass(frozen=True)
class Lanes:
    """The unmasked lanes of an access that are in the memory of one argument."""

    touch: Touch
    slot: Slot
    live: Array | None
    """Which of the pointers, `None`: all of them."""

    @property
    def addresses(self) -> Array:
        """Of these lanes, one behind the other."""
        return self._chosen(self.touch.pointers)

    @property
    def offsets(self) -> Array:
        """Of these lanes in bytes, from the start of the memory."""
        return (self.addresses - np.uint64(self.slot.first)).astype(np.int64)

    def cells(self, size: int) -> Array:
        """Return each lane's cell: its number in units of `size` bytes from the start."""
        return self.offsets // size

    @property
    def values(self) -> Array | None:
        """What these lanes store."""
        values, pointers = self.touch.values, self.touch.pointers
        if values is None:
            return None
        return self._chosen(np.broadcast_to(values, pointers.shape))

    def _chosen(self, blocks: Array) -> Array:
        return blocks.reshape(-1) if self.live is None else blocks[self.live]
