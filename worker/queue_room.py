"""Submits what a driver of other jobs needs: a full queue is waited for."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from store.errors import CallerBytesFull, QueueFull
from store.jobs.types import Submitted
from worker.pauses import Pauses

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 5.0

logger = logging.getLogger(__name__)


async def when_there_is_room(submit: Callable[[], Awaitable[Submitted]]) -> Submitted:
    """Return what `submit` does, as soon as the queue takes it.

    Raises CallerBytesFull: nothing of the driver's makes room again.
    """
    pauses = Pauses(FIRST_PAUSE_S, LONGEST_PAUSE_S)
    while True:
        try:
            return await submit()
        except CallerBytesFull:
            raise
        except QueueFull as error:
            logger.info("a driver waits: %s", error)
            await asyncio.sleep(pauses.next_s())
