"""Puts a library's machine code into huge pages, so that children run it without page faults.

A forked child has no page table for its zygote's files: it faults once for every 64 KB of Triton
that it runs. Anonymous memory is inherited with its tables, and a huge page is one entry of them.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
from pathlib import Path

_ENABLED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_HUGE_BYTES = 2 << 20
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22
_MADV_HUGEPAGE = 14
_MOVE_TO_FIXED = 3  # MREMAP_MAYMOVE | MREMAP_FIXED
_FAILED = ctypes.c_void_p(-1).value
_ENOUGH = 0.9
"""Of the code must have come to lie in huge pages: small ones would cost every fork more."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = _LIBC.mremap.restype = ctypes.c_void_p
_SIZE, _AT = ctypes.c_size_t, ctypes.c_void_p
_LIBC.mmap.argtypes = [_AT, _SIZE, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_LIBC.mremap.argtypes = [_AT, _SIZE, _SIZE, ctypes.c_int, _AT]
_LIBC.mprotect.argtypes = _LIBC.madvise.argtypes = [_AT, _SIZE, ctypes.c_int]
_LIBC.munmap.argtypes = [_AT, _SIZE]


def hold(library: Path) -> int:
    """Move the code of `library`, which is loaded, and return how many bytes; 0: not possible here.

    Must be called by the only thread there is, while it is not in the library. Addresses and bytes
    stay what they were. Raises OSError; then the code is where it was.
    """
    if platform.machine() != "x86_64" or not _may_be_huge():
        return 0  # other processors must be told that memory has become code
    moved = 0
    for start, end in _code_of(library):
        first, last = -(-start // _HUGE_BYTES) * _HUGE_BYTES, end // _HUGE_BYTES * _HUGE_BYTES
        moved += _move(first, last - first) if last > first else 0
    return moved


def _may_be_huge() -> bool:
    return _ENABLED.exists() and "[never]" not in _ENABLED.read_text()


def _code_of(library: Path) -> list[tuple[int, int]]:
    """Return where the library's code lies."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        place, permissions, *_ = words = line.split(maxsplit=5)
        if permissions == "r-xp" and words[-1] == str(library):
            start, end = (int(address, 16) for address in place.split("-"))
            found.append((start, end))
    return found


def _move(at: int, size: int) -> int:
    room = _checked(_LIBC.mmap(None, size + _HUGE_BYTES, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0))
    copy = -(-room // _HUGE_BYTES) * _HUGE_BYTES
    try:
        _LIBC.madvise(copy, size, _MADV_HUGEPAGE)
        ctypes.memmove(copy, at, size)
        if _huge_bytes(copy, copy + size) < _ENOUGH * size:
            return 0
        _checked(_LIBC.mprotect(copy, size, _READ | _EXECUTE))
        _checked(_LIBC.mremap(copy, size, size, _MOVE_TO_FIXED, at))
        return size
    finally:
        # what was moved is not there any more; what was not is of no use
        _LIBC.munmap(room, size + _HUGE_BYTES)


def _huge_bytes(start: int, end: int) -> int:
    """Return how much of the memory between two addresses lies in huge pages."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if place := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(place[1], 16) < end and int(place[2], 16) > start
        elif inside and line.startswith("AnonHugePages:"):
            found += int(line.split()[1]) << 10
    return found


def _checked(result: int | None) -> int:
    """Return what a call gave. Raises OSError when it failed."""
    if result is None or result in (_FAILED, -1):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
