"""What a worker does beside its jobs, and how it waits for a store that is away."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from store.errors import StoreUnavailable
from store.workers import Workers

HEARTBEAT_S = 4.0
SWEEP_S = 5.0
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0

_T = TypeVar("_T")
logger = logging.getLogger(__name__)


async def every(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    """Do `act` every `seconds` until cancelled; a store that is away is waited for."""
    while True:
        await once_available(act)
        await asyncio.sleep(seconds)


async def once_available(act: Callable[[], Awaitable[_T]]) -> _T:
    """Return what `act` does, tried until the store is there for it."""
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return await act()
        except StoreUnavailable as error:
            logger.warning("waiting for the store: %s", error)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def leave(registry: Workers, name: str) -> None:
    """Take the worker `name` off the list; where the store is away, its heartbeat ends that."""
    try:
        await registry.leave(name)
    except StoreUnavailable as error:
        logger.warning("%s could not take leave: %s", name, error)
