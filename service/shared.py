"""What the routes of one process share, listed once with its types."""

from dataclasses import dataclass

from fastapi import Request

from service.caller import Callers
from service.memory import AnswerMemory
from service.metrics import Metrics
from service.settings import ServiceSettings
from service.toolchains import Toolchains
from store.blobs import Blobs
from store.compilations import Compilations
from store.events import Events
from store.invalidation import Invalidations
from store.jobs.callers import Jobs
from store.jobs.waiting import Finished
from store.workers import Workers


@dataclass(frozen=True, slots=True)
class Shared:
    """Made once by the application's lifespan."""

    settings: ServiceSettings
    compilations: Compilations
    blobs: Blobs
    jobs: Jobs
    finished: Finished
    events: Events
    workers: Workers
    callers: Callers
    toolchains: Toolchains
    memory: AnswerMemory
    invalidations: Invalidations
    metrics: Metrics


def shared(request: Request) -> Shared:
    """Return what the routes share."""
    state: Shared = request.app.state.shared
    return state
