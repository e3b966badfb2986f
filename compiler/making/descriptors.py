"""Keeps LLVM from opening files while it reads what a user wrote.

Inline assembly may hold directives (`.incbin`, `.include`) that copy a file into the code. Who
has no descriptor left opens none, however such a directive is spelled.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_DESCRIPTORS = 1024


@contextmanager
def none_left() -> Iterator[None]:
    """Take every descriptor that this process may still have, so that nothing can be opened."""
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most > _MOST_DESCRIPTORS:  # not in a child of a worker, which may not change it either
        resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_DESCRIPTORS, hard))
    taken: list[int] = []
    try:
        while len(taken) < _MOST_DESCRIPTORS:
            taken.append(os.dup(2))
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    try:
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        if most > _MOST_DESCRIPTORS:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
