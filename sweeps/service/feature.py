"""Sweeps, as a part of the service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from service.feature import Feature
from sweeps.service import sweep_routes, winner_routes
from sweeps.service.refused_work import RefusedWork
from sweeps.stored_sweeps import Sweeps
from sweeps.sweep_kind import SWEEP
from sweeps.sweep_request import SweepRequest


@asynccontextmanager
async def _with_refused_work(app: FastAPI) -> AsyncIterator[None]:
    app.state.refused_sweeps = RefusedWork()
    yield


FEATURE = Feature(
    tag={"name": "sweeps", "description": "One kernel, up to 10,000 variants, one table."},
    routers=(sweep_routes.router, winner_routes.router),
    bodies=(SweepRequest,),
    kinds=(SWEEP,),
    stores=(Sweeps,),
    serving=_with_refused_work,
)
