"""What the routes of one process share, listed once with its types."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from fastapi import Request
from redis.asyncio import Redis

from service.caller import Callers
from service.flights import Flights
from service.memory import AnswerMemory, Meanings
from service.metrics import Metrics
from service.settings import ServiceSettings
from service.toolchains import Toolchains
from store.batches import Batches
from store.blobs import Blobs
from store.compilations import Compilations
from store.counters import Counters
from store.derived import Derived
from store.events import Events
from store.following import Following
from store.idempotency import Idempotency
from store.invalidation import Invalidations
from store.jobs.callers import Jobs
from store.jobs.waiting import Finished
from store.launches import Launches
from store.tensors import Tensors
from store.workers import Workers


@dataclass(frozen=True, slots=True)
class Shared:
    """Made once by the application's lifespan."""

    settings: ServiceSettings
    compilations: Compilations
    inspections: Derived
    derivations: Derived
    batches: Batches
    blobs: Blobs
    jobs: Jobs
    finished: Finished
    events: Events
    counters: Counters
    following: Following
    launches: Launches
    tensors: Tensors
    idempotency: Idempotency
    workers: Workers
    callers: Callers
    toolchains: Toolchains
    memory: AnswerMemory
    meanings: Meanings
    flights: Flights
    invalidations: Invalidations
    redis: Redis
    cache: Redis
    listeners: Mapping[str, Callable[[], bool]]
    """Whether each subscription of this process is connected, by what it tells of."""
    invalidate: Callable[[str], Awaitable[None]]
    metrics: Metrics

    def depart(self) -> None:
        """Let go of everybody who waits: this process ends."""
        self.finished.close()
        self.following.close()


def shared(request: Request) -> Shared:
    """Return what the routes share."""
    state: Shared = request.app.state.shared
    return state
