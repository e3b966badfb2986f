"""What a service has while it lives: connections, what its routes share, and listeners."""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from fastapi import FastAPI
from redis.asyncio import Redis

from launch.request.dead_letter import EXHAUSTED, dead_letter_record
from service.caller import Callers, is_loopback
from service.compilations.cache import AnswerMemory, RequestAliases, SingleFlight
from service.settings import ServiceSettings
from service.state import Metrics, ServiceState
from service.toolchains import OfferedToolchains
from store import keys, workers
from store.api_keys import ApiKeys
from store.batches import Batches
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations, Derived
from store.connection import connect, connect_blocking
from store.errors import StoreUnavailable
from store.events import EventFollowers, Events
from store.jobs.consumer import JobConsumer, reap_for_all
from store.jobs.producer import JobProducer
from store.jobs.types import Claim, QueueLimits, kind_of
from store.jobs.waiting import Finished
from store.launches import Idempotency, Launches
from store.subscription import Invalidations, Subscription, invalidate
from store.tensors import Tensors
from store.workers import Counters

NOTE_S = 5.0
Part = Callable[[], Coroutine[None, None, None]]
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
        callers = Callers(ApiKeys(redis), is_private=is_loopback(settings.host))
        key_changes = _key_changes(blocking, callers)
        shared = _shared(settings, redis, cache, blocking, budget, callers, key_changes)
        app.state.shared, app.state.failed = shared, False
        parts: list[Part] = [
            shared.finished.run,
            shared.following.run,
            shared.invalidations.run,
            key_changes.run,
            partial(_note, shared.compilations.flush),
            partial(reap_for_all, _reaper(redis, blocking), _lapsed),
        ]
        if budget is not None:
            parts.append(partial(_note, budget.flush))
        tasks = [asyncio.create_task(_run(part, app)) for part in parts]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for client in {redis, cache, blocking}:
                await client.aclose()

    return living


async def _run(part: Part, app: FastAPI) -> None:
    """Run what must run for as long as the service does; without it the service ends, too."""
    try:
        await part()
    except Exception:
        logger.critical("the service ends, as a part of it has", exc_info=True)
        app.state.failed = True
        app.state.stop()


def _reaper(redis: Redis, blocking: Redis) -> JobConsumer:
    name = f"service-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return JobConsumer(redis, blocking, name)


def _lapsed(claim: Claim) -> bytes:
    return dead_letter_record(
        kind_of(claim.lane), claim.id, claim.payload, claim.dead_letter or EXHAUSTED
    )


def _shared(
    settings: ServiceSettings,
    redis: Redis,
    cache: Redis,
    blocking: Redis,
    budget: Budget | None,
    callers: Callers,
    key_changes: Subscription,
) -> ServiceState:
    memory = AnswerMemory(settings.memory_cache_bytes)
    events = Events(redis)
    limits = QueueLimits(
        queued=settings.max_queue_length,
        queued_per_caller=settings.max_queued_per_caller,
        living_bytes=settings.max_queue_bytes,
        kept_bytes_per_caller=settings.max_kept_bytes_per_caller,
    )
    finished, following = Finished(redis, blocking), EventFollowers(redis, blocking, events)
    invalidations = Invalidations(blocking, on_key=memory.forget, on_loss=memory.clear)
    return ServiceState(
        settings=settings,
        compilations=Compilations(cache, budget),
        inspections=Derived(cache, "inspection"),
        derivations=Derived(cache, "derivation"),
        batches=Batches(redis),
        blobs=Blobs(cache),
        jobs=JobProducer(redis, limits),
        finished=finished,
        events=events,
        counters=Counters(redis),
        following=following,
        launches=Launches(redis),
        tensors=Tensors(redis, Blobs(cache, budget), settings.max_tensors_bytes),
        idempotency=Idempotency(redis),
        workers=workers.Workers(redis),
        callers=callers,
        toolchains=OfferedToolchains(workers.Toolchains(redis)),
        memory=memory,
        aliases=RequestAliases(settings.memory_meanings),
        single_flight=SingleFlight(),
        invalidations=invalidations,
        redis=redis,
        cache=cache,
        listeners={
            "results": lambda: finished.connected,
            "events": lambda: following.connected,
            "invalidations": lambda: invalidations.connected,
            "API keys": lambda: key_changes.connected,
        },
        invalidate=partial(invalidate, redis),
        metrics=Metrics(),
    )


def _key_changes(blocking: Redis, callers: Callers) -> Subscription:
    """Return what tells that API keys were made or revoked."""
    return Subscription(
        blocking,
        keys.API_KEYS_CHANGED,
        lambda _: callers.forget(),
        on_connect=callers.start_remembering,
        on_loss=callers.stop_remembering,
    )


async def _note(flush: Callable[[], Awaitable[None]]) -> None:
    """Tell the store every few seconds what was seen here: uses, and what requests mean."""
    while True:
        await asyncio.sleep(NOTE_S)
        try:
            await flush()
        except StoreUnavailable as error:
            logger.warning("not noted: %s", error)
