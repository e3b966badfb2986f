"""The mask of an access, in the names of the kernel's own variables."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessMask:
    """The mask of one access, and what it lacks.

    `offsets` are the variables of its address. `missing` are comparisons that the kernel makes of
    these variables elsewhere. `is_inclusive` is whether the mask has a `<=`.
    """

    is_there: bool
    is_inclusive: bool = False
    offsets: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
