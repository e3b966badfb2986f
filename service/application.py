"""The FastAPI application: resources made once, routes, and every error as a problem."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

from compiler.inspection import InspectRequest
from compiler.launch.request import LaunchRequest
from compiler.problem import Problem
from compiler.request import CompileRequest
from service import VERSION
from service.caller import Callers
from service.flights import Flights
from service.memory import AnswerMemory, Meanings
from service.metrics import Metrics
from service.openapi import describe_bodies
from service.problems import install_handlers
from service.request_id import RequestIdMiddleware
from service.routes import (
    artifacts,
    compilations,
    derived,
    events,
    inspect,
    launches,
    posting,
    system,
    tensors,
)
from service.settings import ServiceSettings
from service.shared import Shared
from service.toolchains import Toolchains
from store import workers
from store.api_keys import ApiKeys
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations
from store.connection import connect, connect_blocking
from store.derived import Derived
from store.errors import StoreUnavailable
from store.events import Events
from store.idempotency import Idempotency
from store.invalidation import Invalidations, invalidate
from store.jobs.callers import Jobs
from store.jobs.waiting import Finished
from store.jobs.words import Limits
from store.launches import Launches
from store.tensors import Tensors

DESCRIPTION = """Compile, cache and run Triton GPU kernels over HTTP.

Post a kernel with its signature, constexprs and a target; get its TTIR, TTGIR, LLVM IR, PTX and
cubin, its registers and spills, and errors that point at your own line. No GPU is needed.
"""

NOTE_USES_S = 5.0
logger = logging.getLogger(__name__)
ROUTES = (posting, compilations, derived, artifacts, events, inspect, launches, tensors, system)


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application; without `settings` they are read from the environment."""
    settings = settings or ServiceSettings()
    app = FastAPI(
        title="tritond",
        version=VERSION,
        description=DESCRIPTION,
        lifespan=_lifespan(settings),
        responses={422: {"model": Problem, "description": "What is wrong, field by field"}},
    )
    app.add_middleware(RequestIdMiddleware)
    install_handlers(app)
    app.router.routes.append(posting.plain_route)
    for routes in ROUTES:
        app.include_router(routes.router)
    describe_bodies(app, [CompileRequest, InspectRequest, LaunchRequest, launches.LaunchQuery])
    return app


async def _note_uses(budget: Budget) -> None:
    """Tell the store every few seconds what was used, so that it is evicted last."""
    while True:
        await asyncio.sleep(NOTE_USES_S)
        try:
            await budget.flush()
        except StoreUnavailable as error:
            logger.warning("uses not noted: %s", error)


def _lifespan(settings: ServiceSettings):  # type: ignore[no-untyped-def] # noqa: ANN202
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        redis = connect(settings.redis_url)
        cache = connect(settings.cache_url) if settings.cache_url else redis
        blocking = connect_blocking(settings.redis_url)
        memory = AnswerMemory(settings.memory_cache_bytes)
        finished = Finished(redis, blocking)
        # only to note uses: the workers keep the cache within its budget
        budget = None if settings.cache_url else Budget(cache, 0)
        invalidations = Invalidations(blocking, on_key=memory.forget, on_loss=memory.clear)
        limits = Limits(
            queued=settings.max_queue_length, queued_per_caller=settings.max_queued_per_caller
        )
        app.state.shared = Shared(
            settings=settings,
            compilations=Compilations(cache, budget),
            inspections=Derived(cache, "inspection"),
            derivations=Derived(cache, "derivation"),
            blobs=Blobs(cache),
            jobs=Jobs(redis, limits),
            finished=finished,
            events=Events(redis, blocking),
            launches=Launches(redis),
            tensors=Tensors(redis, Blobs(cache, budget), settings.max_tensors_bytes),
            idempotency=Idempotency(redis),
            workers=workers.Workers(redis),
            callers=Callers(ApiKeys(redis)),
            toolchains=Toolchains(workers.Toolchains(redis)),
            memory=memory,
            meanings=Meanings(settings.memory_meanings),
            flights=Flights(),
            invalidations=invalidations,
            invalidate=partial(invalidate, redis),
            metrics=Metrics(),
        )
        try:
            async with asyncio.TaskGroup() as tasks:
                listeners = [
                    tasks.create_task(finished.run()),
                    tasks.create_task(invalidations.run()),
                ]
                if budget is not None:
                    listeners.append(tasks.create_task(_note_uses(budget)))
                yield
                for listener in listeners:
                    listener.cancel()
        finally:
            for client in {redis, cache, blocking}:
                await client.aclose()

    return lifespan
