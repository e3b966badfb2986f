"""An optional part of the service: one of our features, or another project's API.

`service.composition` has them: features by the names in `jobs.features`. Without one of them,
everything else works.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from starlette.routing import BaseRoute

from jobs.kind import JobKind
from service.owned_jobs import OwnedJobs
from service.settings import ServiceSettings


@dataclass(frozen=True)
class Feature:
    """The parts that a feature adds to the application."""

    is_adapter: bool = False
    """True for another project's API, whose routes are in another OpenAPI document."""
    tag: Mapping[str, str] | None = None
    """Its section of the OpenAPI document: name and description."""
    routers: Sequence[APIRouter] = ()
    bodies: Sequence[type[BaseModel]] = ()
    """Models of bodies that its routes read themselves, not through FastAPI."""
    plain_routes: Sequence[BaseRoute] = ()
    """Routes that the OpenAPI document does not show."""
    kinds: Sequence[JobKind[Any]] = ()
    """The kinds of its jobs."""
    owned: Sequence[OwnedJobs[Any]] = ()
    """Its kinds of jobs that can be items of batches."""
    stores: Sequence[type[Any]] = ()
    """Classes of its data in Redis; each is made of the connection alone."""
    batch_examples: Mapping[str, Any] = field(default_factory=dict)
    """Bodies of POST /v1/batches by title, which the OpenAPI document shows."""
    check: Callable[[ServiceSettings], object] | None = None
    """Raises ValueError where the operator's settings do not allow it, before anything starts."""
    serving: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None
    """Its lifespan context; it may put shared state of its routes into `app.state`."""
