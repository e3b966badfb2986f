"""The body of a job for a child: through a pipe, or as shared memory where it is large."""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import takewhile

from worker.pool.shared_bytes import MAX_PARTS, Body, SharedBytes, SharedParts

SHARED_FROM_BYTES = 8 << 20
"""A pipe carries fewer bytes faster than a forked child maps them."""
logger = logging.getLogger(__name__)


def is_large(parts: Iterable[Body]) -> bool:
    """Return True if `body_of` shares these parts."""
    return sum(map(len, parts)) >= SHARED_FROM_BYTES


@asynccontextmanager
async def body_of(parts: Sequence[Body]) -> AsyncIterator[Body | SharedParts]:
    """Yield the concatenated `parts`: as shared memory if they are large and the machine allows it.

    Leading parts that are already shared are not copied.
    """
    if is_large(parts):
        several = takewhile(lambda part: isinstance(part, SharedBytes), parts[: MAX_PARTS - 1])
        shared = [part for part in several if isinstance(part, SharedBytes)]
        rest = parts[len(shared) :]
        try:
            copied = await SharedBytes.of(map(bytes, rest))
        except OSError as error:
            logger.warning("cannot share memory with a child, using a pipe instead: %s", error)
        else:
            with copied:
                yield SharedParts((*shared, copied))
            return
    yield b"".join(map(bytes, parts))
