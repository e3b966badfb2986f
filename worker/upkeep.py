"""What a worker does beside its jobs: its heartbeat, reaping for everybody, the cache's budget."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from store.errors import StoreUnavailable

HEARTBEAT_S = 4.0
REAP_S = 1.0
SWEEP_S = 5.0

logger = logging.getLogger(__name__)


async def every(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    """Do `act` every `seconds` until cancelled; a store that is away is waited for."""
    while True:
        try:
            await act()
        except StoreUnavailable as error:
            logger.warning("%s", error)
        await asyncio.sleep(seconds)
