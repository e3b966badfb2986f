"""Programs, as a part of the worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from programs.program_kind import PROGRAM
from worker.feature import ChildSettings, RunningFeature, WorkerFeature
from worker.programs.program_children import program_children
from worker.programs.program_consumers import ProgramConsumers
from worker.worker_context import WorkerContext


@asynccontextmanager
async def _started(
    context: WorkerContext, settings: ChildSettings
) -> AsyncIterator[RunningFeature]:
    children = program_children(settings.toolchain, settings.on_outdated, settings.idle)
    try:
        consumers = ProgramConsumers(context, children)
        yield RunningFeature(consumers, consumers.describe)
    finally:
        if children is not None:
            await children.close()


PROGRAMS = WorkerFeature(kinds=(PROGRAM,), start=_started)
