"""Tells the followers of a job which stages were reached, in order and without holding it up.

Events are news, not results: when the store is away they are dropped, and the job goes on.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from store.errors import StoreUnavailable
from store.events import Events
from store.jobs.words import Claim
from worker.child_task import OnStage
from worker.outcome import Stage

logger = logging.getLogger(__name__)


@asynccontextmanager
async def announcing(claim: Claim, events: Events) -> AsyncIterator[OnStage]:
    """Yield what a reached stage is handed to; all are told when the context ends."""
    stages: asyncio.Queue[Stage | None] = asyncio.Queue()
    telling = asyncio.create_task(_tell(claim, events, stages))
    try:
        yield stages.put_nowait
        stages.put_nowait(None)
        await telling
    finally:
        telling.cancel()


async def _tell(claim: Claim, events: Events, stages: asyncio.Queue[Stage | None]) -> None:
    over = False
    while not over:
        reached = [await stages.get()]
        while not stages.empty():  # stages taken from the cache come all at once
            reached.append(stages.get_nowait())
        over = None in reached
        told = [
            {"stage": stage.name, "ms": stage.ms, "size_bytes": len(stage.body)}
            for stage in reached
            if stage is not None
        ]
        try:
            if told:
                await events.append_all(claim.id, claim.token, "stage", told)
        except StoreUnavailable as error:
            logger.warning("%d stages of %s not told: %s", len(told), claim.id, error)
