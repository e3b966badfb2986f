"""Keeps freed memory for the next array, instead of returning it to the operating system.

NumPy creates an array for every operation. By default, glibc returns arrays of this size at once,
and the system must map and clear the pages of each new one: three times the work of the operation.
Only for a process that runs one launch and ends.
"""

import ctypes
from functools import cache

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of `mallopt`, from glibc's malloc.h."""
_KEPT_BYTES = 1 << 30
_STEP_BYTES = 16 << 20
_MAX_BYTES = 32 << 20
"""Larger arrays are still mapped separately: this is the largest value that glibc accepts."""


@cache
def keep_freed_memory() -> None:
    """Make this process keep freed memory. Does nothing with a C library other than glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _MAX_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_TOP_PAD, _STEP_BYTES)
