"""What a service has while it lives: connections, what its routes share, and listeners."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from fastapi import FastAPI
from redis.asyncio import Redis

from service.caller import Callers
from service.flights import Flights
from service.loopback import is_loopback
from service.memory import AnswerMemory, Meanings
from service.metrics import Metrics
from service.settings import ServiceSettings
from service.shared import Shared
from service.toolchains import Toolchains
from store import keys, workers
from store.api_keys import ApiKeys
from store.batches import Batches
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations
from store.connection import connect, connect_blocking
from store.derived import Derived
from store.errors import StoreUnavailable
from store.events import Events
from store.following import Following
from store.idempotency import Idempotency
from store.invalidation import Invalidations, invalidate
from store.jobs.callers import Jobs
from store.jobs.waiting import Finished
from store.jobs.words import Limits
from store.launches import Launches
from store.subscription import Subscription
from store.tensors import Tensors

NOTE_S = 5.0
logger = logging.getLogger(__name__)


def lifespan(
    settings: ServiceSettings,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return what an application with `settings` begins and ends with."""

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        redis = connect(settings.redis_url)
        cache = connect(settings.cache_url) if settings.cache_url else redis
        blocking = connect_blocking(settings.redis_url)
        # only to note uses: the workers keep the cache within its budget
        budget = None if settings.cache_url else Budget(cache, 0)
        shared = _shared(settings, redis, cache, blocking, budget)
        app.state.shared = shared
        listening: list[Callable[[], Coroutine[None, None, None]]] = [
            shared.finished.run,
            shared.following.run,
            shared.invalidations.run,
            _key_changes(blocking, shared.callers).run,
            partial(_note, shared.compilations.flush),
        ]
        if budget is not None:
            listening.append(partial(_note, budget.flush))
        try:
            async with asyncio.TaskGroup() as tasks:
                listeners = [tasks.create_task(listen()) for listen in listening]
                yield
                for listener in listeners:
                    listener.cancel()
        finally:
            for client in {redis, cache, blocking}:
                await client.aclose()

    return living


def _shared(
    settings: ServiceSettings, redis: Redis, cache: Redis, blocking: Redis, budget: Budget | None
) -> Shared:
    memory = AnswerMemory(settings.memory_cache_bytes)
    events = Events(redis)
    limits = Limits(
        queued=settings.max_queue_length, queued_per_caller=settings.max_queued_per_caller
    )
    return Shared(
        settings=settings,
        compilations=Compilations(cache, budget),
        inspections=Derived(cache, "inspection"),
        derivations=Derived(cache, "derivation"),
        batches=Batches(redis),
        blobs=Blobs(cache),
        jobs=Jobs(redis, limits),
        finished=Finished(redis, blocking),
        events=events,
        following=Following(redis, blocking, events),
        launches=Launches(redis),
        tensors=Tensors(redis, Blobs(cache, budget), settings.max_tensors_bytes),
        idempotency=Idempotency(redis),
        workers=workers.Workers(redis),
        callers=Callers(ApiKeys(redis), is_private=is_loopback(settings.host)),
        toolchains=Toolchains(workers.Toolchains(redis)),
        memory=memory,
        meanings=Meanings(settings.memory_meanings),
        flights=Flights(),
        invalidations=Invalidations(blocking, on_key=memory.forget, on_loss=memory.clear),
        invalidate=partial(invalidate, redis),
        metrics=Metrics(),
    )


def _key_changes(blocking: Redis, callers: Callers) -> Subscription:
    """Return what tells that API keys were made or revoked."""
    return Subscription(
        blocking,
        keys.API_KEYS_CHANGED,
        lambda _: callers.forget(),
        on_connect=callers.hear,
        on_loss=callers.turn_deaf,
    )


async def _note(flush: Callable[[], Awaitable[None]]) -> None:
    """Tell the store every few seconds what was seen here: uses, and what requests mean."""
    while True:
        await asyncio.sleep(NOTE_S)
        try:
            await flush()
        except StoreUnavailable as error:
            logger.warning("not noted: %s", error)
