"""Sweeps, as a part of the worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sweeps.sweep_kind import SWEEP
from sweeps.worker.sweep_consumer import sweep_consumer
from worker.feature import ChildSettings, RunningFeature, WorkerFeature
from worker.worker_context import WorkerContext


@asynccontextmanager
async def _started(context: WorkerContext, _: ChildSettings) -> AsyncIterator[RunningFeature]:
    yield RunningFeature(sweep_consumer(context))


FEATURE = WorkerFeature(kinds=(SWEEP,), start=_started)
