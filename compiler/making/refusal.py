"""Recognizes what the sandbox refused to user code, in the exception that came of it.

Whoever raises the same exception by hand is believed: it costs nobody but themselves the cache.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

SLUG = "sandbox_violation"
HINT = (
    "The sandbox forbids this: while a kernel is compiled or run, its source opens no file, uses "
    "no network, starts no process or thread and sends no signal. Keep it out of what the kernel "
    "reaches, or write the value it gives into the source."
)
_REFUSALS = frozenset({errno.EPERM, errno.EACCES})
_NO_THREAD = "can't start new thread"


def was_refused(error: BaseException | None) -> bool:
    """Return whether `error`, or what it was raised from or while handling, is a refusal."""
    return any(_is_refusal(link) for link in _links(error))


def _is_refusal(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _REFUSALS
    return isinstance(error, RuntimeError) and str(error) == _NO_THREAD


def _links(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
