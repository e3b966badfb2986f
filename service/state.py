"""What the routes of one process share: stores, caches, settings and counters, with their types.

Made once by `service.lifespan`; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge
from redis.asyncio import Redis

from jobs.submission import JobClient
from service.caller import Callers
from service.compilations.response_cache import ResponseCache, SingleFlight
from service.settings import ServiceSettings
from service.toolchains import ToolchainCache
from store.batches import Batches
from store.blobs import Blobs
from store.compilations import Compilations, Derived
from store.evaluations import Evaluations
from store.events import EventFollowers, Events
from store.jobs.producer import JobProducer
from store.jobs.waiting import ResultWaiter
from store.launches import Idempotency, Launches
from store.page_states import PageStates
from store.programs import Programs
from store.subscription import Invalidations
from store.sweeps import Sweeps
from store.tensors import Tensors
from store.workers import Counters, Workers

if TYPE_CHECKING:
    from service.owned_jobs import OwnedJobs


class Metrics:
    """Prometheus metrics of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.compilations = Counter(
            "tritond_compilations",
            "Compile requests by what the cache said (hit, miss, join)",
            ["cache"],
            registry=self.registry,
        )
        # a labelled counter costs a look-up that the fastest path can do without
        self.remembered = self.compilations.labels("memory")
        self.evictions = Counter(
            "tritond_evicted_while_answering",
            "Finished compilations whose blobs were gone before they could be answered",
            registry=self.registry,
        )
        self.direct_answers = Counter(
            "tritond_answered_without_artifacts",
            "Answers given without artifacts because the cache evicted them three times",
            registry=self.registry,
        )
        self.overruled = Gauge(
            "tritond_slices_overruled",
            "Kernels that the whole text of a source made otherwise than its slice",
            registry=self.registry,
        )
        self.queued = Gauge(
            "tritond_queued_jobs", "Jobs waiting for a worker", ["lane"], registry=self.registry
        )
        self.workers = Gauge(
            "tritond_workers", "Workers that are alive", ["kind"], registry=self.registry
        )


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What one process has while it serves."""

    settings: ServiceSettings
    compilations: Compilations
    inspections: Derived
    derivations: Derived
    batches: Batches
    sweeps: Sweeps
    blobs: Blobs
    jobs: JobProducer
    results: ResultWaiter
    events: Events
    counters: Counters
    event_followers: EventFollowers
    launches: Launches
    tensors: Tensors
    programs: Programs
    page_states: PageStates
    idempotency: Idempotency
    evaluations: Evaluations
    owned: Mapping[str, OwnedJobs[Any]]
    """Jobs that can be items of a batch, by their collection."""
    workers: Workers
    callers: Callers
    toolchains: ToolchainCache
    responses: ResponseCache
    single_flight: SingleFlight
    invalidations: Invalidations
    redis: Redis
    cache: Redis
    listeners: Mapping[str, Callable[[], bool]]
    """Whether each subscription of this process is connected, by what it is for."""
    invalidate: Callable[[str], Awaitable[None]]
    metrics: Metrics

    @property
    def client(self) -> JobClient:
        """The way to submit jobs and to wait for them."""
        return JobClient(self.jobs, self.results)

    def release_waiters(self) -> None:
        """End every wait and every stream of events: this process ends."""
        self.results.close()
        self.event_followers.close()


def state_of(request: Request) -> ServiceState:
    """Return what the routes share."""
    state: ServiceState = request.app.state.service
    return state
