"""State shared by the routes of one process: stores, caches, settings and counters.

`service.application` makes it once. There is no logic here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from fastapi import Request
from redis.asyncio import Redis

from jobs.submission import JobClient
from service.caller import Callers
from service.caller_threads import CallerThreads
from service.compilations.response_cache import ResponseCache, SingleFlight
from service.metrics import Metrics
from service.receipt_key import ReceiptKey
from service.settings import ServiceSettings
from service.toolchains import ToolchainCache
from store.batches import Batches
from store.blobs import Blobs
from store.compilations import Compilations, Derived
from store.events import EventFollowers, Events
from store.jobs.producer import JobProducer
from store.jobs.waiting import ResultWaiter
from store.launches import Idempotency, Launches
from store.own_lists import OwnLists
from store.page_states import PageStates
from store.subscription import Invalidations
from store.tensors import Tensors
from store.usage import UsageAccounts
from store.workers import Counters, Workers

if TYPE_CHECKING:
    from service.owned_jobs import OwnedJobs


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
    usage: UsageAccounts
    event_followers: EventFollowers
    launches: Launches
    tensors: Tensors
    page_states: PageStates
    idempotency: Idempotency
    owned: Mapping[str, OwnedJobs[Any]]
    """Jobs that can be items of a batch, by their collection."""
    workers: Workers
    callers: Callers
    threads: CallerThreads
    toolchains: ToolchainCache
    responses: ResponseCache
    single_flight: SingleFlight
    invalidations: Invalidations
    redis: Redis
    cache: Redis
    listeners: Mapping[str, Callable[[], bool]]
    """For each subscription of this process, a function: is it connected?"""
    lists: OwnLists
    invalidate: Callable[[str], Awaitable[None]]
    metrics: Metrics
    receipt_key: ReceiptKey | None
    """The key that signs receipts; None: the service gives none."""
    stores: Mapping[type[Any], Any]
    """Data of features in Redis, by the class of it."""

    def store(self, kind: type[FeatureStore]) -> FeatureStore:
        """Return what a feature keeps, by the class that its `Feature.stores` lists."""
        store: FeatureStore = self.stores[kind]
        return store

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
