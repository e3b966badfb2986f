"""Keeps memory that was freed for the next array, instead of giving it back to the kernel.

NumPy makes an array for every operation. By itself glibc returns those of a batch of programs at
once, and each new one is made of pages that have to be mapped and cleared again: three times the
work of the operation. For a process that runs one launch and ends.
"""

from __future__ import annotations

import ctypes
from functools import cache

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of `mallopt`, from glibc's malloc.h."""
_KEPT_BYTES = 1 << 30
_STEP_BYTES = 16 << 20
_LARGEST_BYTES = 32 << 20
"""Larger arrays are mapped by themselves, as ever: it is as much as glibc takes here."""


@cache
def keep_freed_memory() -> None:
    """Make this process keep freed memory. Does nothing with libraries other than glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_TOP_PAD, _STEP_BYTES)
