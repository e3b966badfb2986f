"""The FastAPI application: routes, documentation, and problems for all errors.

The process has parts that run alongside requests, such as the subscriptions to the store. If a part
ends by itself, the service stops: its answers would go stale.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel
from redis.asyncio import Redis

from compiler.inspection import InspectRequest
from compiler.problem import Problem
from compiler.request.compile_request import CompileRequest
from jobs import tracing
from jobs.core_kinds import CORE_KINDS
from jobs.kind import by_name, expired
from jobs.loop_steps import measure_lag
from launch.request.launch_request import LaunchRequest
from service import VERSION
from service.batches.batch import EXAMPLES, BatchRequest
from service.batches.batch_document import describe_batches
from service.caller import Callers, RequestRate, is_loopback
from service.caller_threads import CallerThreads
from service.compilations.response_cache import ResponseCache, SingleFlight
from service.feature import Feature
from service.http.browser import BrowserMiddleware
from service.http.middleware import HeadMiddleware, RequestIdMiddleware
from service.http.openapi_document import (
    ADAPTERS_TITLE,
    OpenApiDocument,
    adapter_operation_id,
    describe,
    operation_id,
)
from service.http.problems import install_handlers
from service.http.query import refuse_wrong_query
from service.http.request_spans import TracingMiddleware
from service.http.traffic import Traffic
from service.launches.launch_submission import LAUNCHES
from service.metrics import Metrics
from service.owned_jobs import OwnedJobs
from service.page_state import PageState
from service.receipt_key import receipt_key
from service.routes import (
    artifacts,
    batches,
    compilations,
    derived,
    diffs,
    events,
    inspect,
    launches,
    lessons,
    pages,
    states,
    system,
    tensors,
    usage,
)
from service.settings import ServiceSettings
from service.state import ServiceState
from service.toolchains import ToolchainCache
from store import keys, workers
from store.api_keys import ApiKeys
from store.batches import Batches
from store.blobs import Blobs
from store.bucket import Bucket
from store.budget import Budget
from store.compilations import Compilations, Derived
from store.connection import connect, connect_blocking
from store.errors import StoreUnavailable
from store.events import EventFollowers, Events
from store.jobs.consumer import JobConsumer, reap_for_all
from store.jobs.producer import JobProducer
from store.jobs.types import QueueLimits
from store.jobs.waiting import ResultWaiter
from store.launches import Idempotency, Launches
from store.own_lists import OwnLists
from store.page_states import PageStates
from store.subscription import Invalidations, Subscription, invalidate
from store.tensors import Tensors
from store.usage import UsageAccounts
from store.workers import Counters

FLUSH_S = 5.0
OWNED = (LAUNCHES,)
Part = Callable[[], Coroutine[None, None, None]]
logger = logging.getLogger(__name__)
DESCRIPTION = """Compile, cache and run Triton GPU kernels over HTTP.

Post a kernel with its signature, constexprs and a target; get its TTIR, TTGIR, LLVM IR, PTX and
cubin, its registers and spills, and errors that point at your own line. No GPU is needed.

Post a launch to run the kernel on a GPU, or on the CPU device, which executes a translation of the
compiler's TTIR. The answer is a verdict, findings at your own line, and on a GPU timings.

A kernel that does not compile, or computes wrong values, is a result with status 200. Errors are
problems (RFC 9457) that name the field.

APIs of other projects have their own document: [openapi-adapters.json](openapi-adapters.json).
"""
TAGS = [
    {"name": "compilations", "description": "Compile kernels. A request's key names its result."},
    {"name": "artifacts", "description": "Stages of a compilation, and files derived from them."},
    {
        "name": "launches",
        "description": "Run, check and time kernels. A launch belongs to its caller.",
    },
    {"name": "batches", "description": "Up to 1,000 jobs in one request."},
    {"name": "lessons", "description": "Lessons on writing kernels, as on the page."},
    {"name": "page", "description": "States of the web page, which permalinks name."},
    {"name": "system", "description": "Targets, devices, workers, health and metrics."},
]

ROUTES = (
    compilations,
    derived,
    diffs,
    artifacts,
    events,
    inspect,
    launches,
    tensors,
    batches,
    states,
    lessons,
    system,
    usage,
)
BODIES: tuple[type[BaseModel], ...] = (
    CompileRequest,
    InspectRequest,
    LaunchRequest,
    launches.LaunchQuery,
    BatchRequest,
    PageState,
)


def create_app(settings: ServiceSettings, features: Sequence[Feature] = ()) -> FastAPI:
    """Return the application of the core with `features`."""
    traffic = Traffic()
    app = FastAPI(
        title="tritond",
        version=VERSION,
        description=DESCRIPTION,
        openapi_tags=[*TAGS, *(dict(f.tag) for f in features if f.tag)],
        lifespan=lifespan(settings, features, traffic),
        openapi_url=None,  # `routes.pages` makes it in a thread, off the event loop
        docs_url=None,  # FastAPI's pages load a CDN's scripts; `routes.pages` serves its own
        redoc_url=None,
        # FastAPI would match each for every request; GET /metrics is ours
        telemetry={"tracing": False, "metrics": False, "logs": False},
        generate_unique_id_function=operation_id,
        redirect_slashes=False,  # it would reveal the scheme and host behind a proxy
        responses={422: {"model": Problem, "description": "What is wrong, field by field"}},
    )
    _add_middleware(app, settings, traffic)
    install_handlers(app)
    app.router.routes.append(compilations.plain_route)
    routers, foreign = [routes.router for routes in ROUTES], list[APIRouter]()
    for feature in features:
        app.router.routes.extend(feature.plain_routes)
        (foreign if feature.is_adapter else routers).extend(feature.routers)
    checks = [Depends(refuse_wrong_query)]
    for router in routers:
        app.include_router(router, dependencies=checks)
    for router in foreign:
        app.include_router(
            router, dependencies=checks, generate_unique_id_function=adapter_operation_id
        )
    app.include_router(pages.router)
    app.state.framing_origins = settings.framing_origins
    app.state.page_opens_github = settings.page_opens_github
    _describe(app, features, routers, foreign)
    return app


def _add_middleware(app: FastAPI, settings: ServiceSettings, traffic: Traffic) -> None:
    """Wrap the application; what is added last sees a request first."""
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        BrowserMiddleware,
        bound=settings.host,
        names=settings.host_names,
        may_be_framed=bool(settings.framing_origins),
    )
    app.add_middleware(RequestIdMiddleware, traffic=traffic)
    if tracing.is_on():
        app.add_middleware(TracingMiddleware)


def _describe(
    app: FastAPI,
    features: Sequence[Feature],
    routers: Sequence[APIRouter],
    foreign: Sequence[APIRouter],
) -> None:
    """Add the OpenAPI documents: that of the API, and that of adapters (`foreign`)."""
    bodies = [*BODIES, *(body for feature in features for body in feature.bodies)]
    owned = [*OWNED, *(jobs for feature in features for jobs in feature.owned)]
    batch_examples = dict(EXAMPLES)
    for feature in features:
        batch_examples |= feature.batch_examples
    describe(
        app,
        bodies,
        (route for router in (*routers, *foreign) for route in iter_route_contexts(router.routes)),
        lambda document: describe_batches(document, owned, batch_examples),
    )
    adapted = {
        route.path_format for router in foreign for route in iter_route_contexts(router.routes)
    }
    app.state.document = OpenApiDocument(app, lambda path: path not in adapted)
    app.state.adapters_document = OpenApiDocument(app, adapted.__contains__, ADAPTERS_TITLE)


def lifespan(
    settings: ServiceSettings, features: Sequence[Feature], traffic: Traffic
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return the application's lifespan context: the core's, then each feature's."""

    @asynccontextmanager
    async def serve(app: FastAPI) -> AsyncIterator[None]:
        redis = connect(settings.redis_url, ack_replicas=settings.ack_replicas)
        cache = connect(settings.cache_url) if settings.cache_url else redis
        blocking = connect_blocking(settings.redis_url)
        # only notes uses: workers keep the cache within its budget
        budget = None if settings.cache_url else Budget(cache, 0)
        callers = Callers(ApiKeys(redis), RequestRate(redis), is_private=is_loopback(settings.host))
        key_changes = _key_changes(blocking, callers)
        owned: list[OwnedJobs[Any]] = [
            *OWNED,
            *(jobs for feature in features for jobs in feature.owned),
        ]
        kinds = by_name([*CORE_KINDS, *(kind for feature in features for kind in feature.kinds)])
        stores = [store for feature in features for store in feature.stores]
        state = _service_state(
            settings, redis, cache, blocking, budget, callers, key_changes, owned, stores, traffic
        )
        app.state.service, app.state.failed = state, False
        asyncio.get_running_loop().set_default_executor(state.threads)
        parts: list[Part] = [
            state.results.run,
            state.event_followers.run,
            state.invalidations.run,
            key_changes.run,
            callers.end_revoked,
            partial(_flush_regularly, state.compilations.flush),
            partial(_flush_regularly, state.lists.flush),
            partial(
                reap_for_all,
                _reaper(redis, blocking),
                partial(expired, kinds),
                state.metrics.work.note_expired,
            ),
            partial(_flush_regularly, partial(_publish, state, traffic)),
            partial(measure_lag, state.metrics.work.loop_lag.labels("service")),
        ]
        if budget is not None:
            parts.append(partial(_flush_regularly, budget.flush))
        tasks = [asyncio.create_task(_run(part, app)) for part in parts]
        try:
            async with AsyncExitStack() as serving:
                for feature in features:
                    if feature.serving is not None:
                        await serving.enter_async_context(feature.serving(app))
                yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for client in {redis, cache, blocking}:
                await client.aclose()

    return serve


async def _run(part: Part, app: FastAPI) -> None:
    """Run an essential part; if it fails, stop the service."""
    try:
        await part()
    except Exception:
        logger.critical("the service stops because an essential part of it failed", exc_info=True)
        app.state.failed = True
        app.state.stop()


def _reaper(redis: Redis, blocking: Redis) -> JobConsumer:
    name = f"service-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return JobConsumer(redis, blocking, name)


def _queue_limits(settings: ServiceSettings) -> QueueLimits:
    return QueueLimits(
        queued=settings.max_queue_length,
        queued_per_caller=settings.max_queued_per_caller,
        living_bytes=settings.max_queue_bytes,
        kept_bytes_per_caller=settings.max_kept_bytes_per_caller,
    )


def _service_state(
    settings: ServiceSettings,
    redis: Redis,
    cache: Redis,
    blocking: Redis,
    budget: Budget | None,
    callers: Callers,
    key_changes: Subscription,
    owned: Sequence[OwnedJobs[Any]],
    stores: Sequence[type[Any]],
    traffic: Traffic,
) -> ServiceState:
    responses = ResponseCache(settings.memory_cache_bytes)
    bucket = Bucket(settings.blobs_url) if settings.blobs_url else None
    blobs, events = Blobs(cache, budget, bucket), Events(redis)
    results, followers = ResultWaiter(redis, blocking), EventFollowers(redis, blocking, events)
    invalidations = Invalidations(blocking, on_key=responses.forget, on_loss=responses.clear)
    return ServiceState(
        settings=settings,
        compilations=Compilations(blobs),
        inspections=Derived(blobs, "inspection"),
        derivations=Derived(blobs, "derivation"),
        batches=Batches(redis),
        blobs=blobs,
        jobs=JobProducer(redis, _queue_limits(settings)),
        results=results,
        events=events,
        counters=Counters(redis),
        usage=UsageAccounts(redis),
        event_followers=followers,
        launches=Launches(redis),
        tensors=Tensors(redis, blobs, settings.max_tensors_bytes),
        page_states=PageStates(redis, settings.max_states_bytes),
        idempotency=Idempotency(redis),
        owned={jobs.collection: jobs for jobs in owned},
        workers=workers.Workers(redis),
        callers=callers,
        threads=CallerThreads(),
        toolchains=ToolchainCache(workers.Toolchains(redis), workers.Workers(redis)),
        responses=responses,
        single_flight=SingleFlight(),
        invalidations=invalidations,
        redis=redis,
        cache=cache,
        listeners={
            "results": lambda: results.connected,
            "events": lambda: followers.connected,
            "invalidations": lambda: invalidations.connected,
            "API keys": lambda: key_changes.connected,
        },
        lists=OwnLists(redis),
        invalidate=partial(invalidate, redis),
        metrics=Metrics(traffic, bucket),
        receipt_key=receipt_key(settings.receipt_key_file),
        stores={store: store(redis) for store in stores},
    )


def _key_changes(blocking: Redis, callers: Callers) -> Subscription:
    """Return the subscription to changes of API keys."""
    return Subscription(
        blocking,
        keys.API_KEYS_CHANGED,
        lambda _: callers.forget(),
        on_connect=callers.start_remembering,
        on_loss=callers.stop_remembering,
    )


async def _publish(state: ServiceState, traffic: Traffic) -> None:
    """Add what this process counted to the deployment's counts and accounts."""
    work = state.metrics.work
    for caller, used in traffic.take_callers().items():
        work.usage.note(caller, used)
    await work.publish(state.counters, state.usage)


async def _flush_regularly(flush: Callable[[], Awaitable[None]]) -> None:
    """Write what was noted in memory to the store, every few seconds."""
    while True:
        await asyncio.sleep(FLUSH_S)
        try:
            await flush()
        except StoreUnavailable as error:
            logger.warning("what was noted in memory was not written to the store: %s", error)
