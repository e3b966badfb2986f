"""A block's access to memory as the kernel requests it, before any check."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.addresses import Slot


class Access(StrEnum):
    """The kind of a memory access."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"

    @property
    def direction(self) -> Literal["read", "write"]:
        """The field `access` of a finding."""
        return "read" if self is Access.LOAD else "write"


class AccessForm(Enum):
    """The bounds that a kernel gives an access: none, a mask, or a descriptor.

    `COMPARED` is a compare-and-swap, which takes no mask.
    """

    UNMASKED = "unmasked"
    MASKED = "masked"
    DESCRIPTOR = "descriptor"
    COMPARED = "compared"


@dataclass(frozen=True)
class Touch:
    """A load, store or atomic operation of `size` bytes at each of `pointers`."""

    access: Access
    pointers: Array
    size: int
    values: Array | None = None
    """The stored values; their shape broadcasts to that of `pointers`."""
    semantics: str | None = None
    """Triton's name of the memory semantics, `None` for accesses that are not atomic."""
    form: AccessForm = AccessForm.UNMASKED
    is_returned: bool = False
    """True for an atomic operation whose old values the kernel uses."""
    within_program: bool = False
    """True for an atomic operation of the scope `cta`, atomic only within its program."""


@dataclass(frozen=True)
class Lanes:
    """The unmasked lanes of an access that lie in one argument's memory."""

    touch: Touch
    slot: Slot
    live: Array | None
    """The selected pointers, `None` for all."""

    @property
    def addresses(self) -> Array:
        """The addresses of these lanes, flattened."""
        return self._chosen(self.touch.pointers)

    @property
    def offsets(self) -> Array:
        """The offsets of these lanes in bytes from the start of the memory."""
        return (self.addresses - np.uint64(self.slot.first)).astype(np.int64)

    def cells(self, size: int) -> Array:
        """Return the cell of each lane: its offset in units of `size` bytes."""
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
