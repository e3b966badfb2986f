"""State shared by the routes of one process: stores, caches, settings and counters.

`service.lifespan` makes it once. There is no logic here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from redis.asyncio import Redis

from jobs.submission import JobClient
from service.caller import Callers
from service.compilations.response_cache import ResponseCache, SingleFlight
from service.settings import ServiceSettings
from service.toolchains import ToolchainCache
from store.batches import Batches
from store.blobs import Blobs
from store.bucket import Bucket
from store.compilations import Compilations, Derived
from store.events import EventFollowers, Events
from store.jobs.producer import JobProducer
from store.jobs.waiting import ResultWaiter
from store.launches import Idempotency, Launches
from store.page_states import PageStates
from store.subscription import Invalidations
from store.tensors import Tensors
from store.workers import Counters, Workers

if TYPE_CHECKING:
    from service.owned_jobs import OwnedJobs


class _BucketCollector(Collector):
    """Requests to the bucket of large blobs, counted where they are made."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def collect(self) -> Iterator[Metric]:
        """Yield the count of failed requests."""
        yield CounterMetricFamily(
            "tritond_bucket_failures",
            "Requests of this process to the bucket of large blobs that failed",
            value=self._bucket.failures,
        )


class Metrics:
    """Prometheus metrics of one process, in their own registry."""

    def __init__(self, bucket: Bucket | None = None) -> None:
        self.registry = CollectorRegistry()
        self.compilations = Counter(
            "tritond_compilations",
            "Compile requests by cache status (hit, miss, join)",
            ["cache"],
            registry=self.registry,
        )
        # the fastest path avoids the look-up of a labelled counter
        self.remembered = self.compilations.labels("memory")
        self.evictions = Counter(
            "tritond_evicted_while_answering",
            "Finished compilations whose blobs were evicted before the answer was sent",
            registry=self.registry,
        )
        self.direct_answers = Counter(
            "tritond_answered_without_artifacts",
            "Answers given without artifacts because the cache evicted them three times",
            registry=self.registry,
        )
        self.overruled = Gauge(
            "tritond_slices_overruled",
            "Kernels whose whole source gave another result than its slice",
            registry=self.registry,
        )
        self.queued = Gauge(
            "tritond_queued_jobs", "Jobs waiting for a worker", ["lane"], registry=self.registry
        )
        self.open_circuits = Gauge(
            "tritond_bucket_circuits_open",
            "Processes that make no requests to the bucket of large blobs, as the last ones failed",
            ["of"],
            registry=self.registry,
        )
        if bucket is not None:
            self.registry.register(_BucketCollector(bucket))
            self.open_circuits.labels("service").set_function(lambda: bucket.circuit.is_open)
        self.workers = Gauge("tritond_workers", "Live workers", ["kind"], registry=self.registry)


FeatureStore = TypeVar("FeatureStore")


@dataclass(frozen=True, slots=True)
class ServiceState:
    """The shared objects of a serving process."""

    settings: ServiceSettings
    compilations: Compilations
    inspections: Derived
    derivations: Derived
    batches: Batches
    blobs: Blobs
    jobs: JobProducer
    results: ResultWaiter
    events: Events
    counters: Counters
    event_followers: EventFollowers
    launches: Launches
    tensors: Tensors
    page_states: PageStates
    idempotency: Idempotency
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
    """For each subscription of this process: True while it is connected."""
    invalidate: Callable[[str], Awaitable[None]]
    metrics: Metrics
    stores: Mapping[type[Any], Any]
    """Data of features in Redis, by the class of it."""

    def store(self, kind: type[FeatureStore]) -> FeatureStore:
        """Return what a feature keeps, by the class that its `Feature.stores` lists."""
        found: FeatureStore = self.stores[kind]
        return found

    @property
    def client(self) -> JobClient:
        """A client that submits jobs and waits for them."""
        return JobClient(self.jobs, self.results)

    def release_waiters(self) -> None:
        """End every wait and event stream, because this process stops."""
        self.results.close()
        self.event_followers.close()


def state_of(request: Request) -> ServiceState:
    """Return the shared state of the routes."""
    state: ServiceState = request.app.state.service
    return state
