"""Whether this process reaches the store, part by part; of workers only how many there are."""

import asyncio
from typing import Any

from service.problems import ProblemRaised
from service.shared import Shared
from store.errors import StoreUnavailable
from store.probe import probe

WITHIN_S = 3.0


async def readiness(shared: Shared) -> dict[str, Any]:
    """Return what `GET /readyz` answers.

    Raises ProblemRaised (503): the store of jobs refuses to write or the cache to read, or a
    listener does not hear it.
    """
    listeners = {name: is_connected() for name, is_connected in shared.listeners.items()}
    faults = [f"nothing is heard of {name}" for name, hears in listeners.items() if not hears]
    for redis in {shared.redis, shared.cache}:
        try:
            await probe(redis, WITHIN_S, writes=redis is shared.redis)
        except StoreUnavailable as error:
            faults.insert(0, str(error) if redis is shared.redis else f"The cache: {error}")
    if faults:
        raise ProblemRaised("store_unavailable", "; ".join(faults))
    return {"status": "ready", "listeners": listeners, "workers": await _workers(shared)}


async def _workers(shared: Shared) -> int | None:
    """Return how many workers serve the default toolchain; None before there ever was one."""
    try:
        async with asyncio.timeout(WITHIN_S):
            default = await shared.toolchains.default()
            workers = await shared.workers.list()
    except TimeoutError as error:
        raise StoreUnavailable(f"The store did not answer within {WITHIN_S:g} s.") from error
    return None if default is None else sum(default.id in worker.served for worker in workers)
