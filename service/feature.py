"""A part of the service which its core does not know: a feature of ours, or another project's API.

`service.composition` lists them. Without one of them, everything else works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI
from pydantic import BaseModel
from starlette.routing import BaseRoute

from jobs.kind import JobKind
from service.owned_jobs import OwnedJobs
from service.settings import ServiceSettings


@dataclass(frozen=True)
class Feature:
    """What it adds to the application."""

    tag: Mapping[str, str] | None = None
    """Its section of the OpenAPI document: name and description."""
    routers: Sequence[APIRouter] = ()
    bodies: Sequence[type[BaseModel]] = ()
    """Models of the bodies that its routes read by themselves."""
    plain_routes: Sequence[BaseRoute] = ()
    """Routes that the OpenAPI document does not show."""
    kinds: Sequence[JobKind[Any]] = ()
    """The kinds of its jobs."""
    owned: Sequence[OwnedJobs[Any]] = ()
    """Those of its jobs that can be items of batches."""
    serving: Callable[[FastAPI, ServiceSettings], AbstractAsyncContextManager[None]] | None = None
    """The context that it serves in; it may keep what its routes share in `app.state`."""
