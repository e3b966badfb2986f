"""Programs as a feature of the worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from programs.gpu.program_launcher import BOOTSTRAP
from programs.program_kind import PROGRAM
from programs.worker.program_children import program_children
from programs.worker.program_consumers import ProgramConsumers
from worker.feature import ChildSettings, RunningFeature, WorkerFeature
from worker.gpu.supervisor.launcher_process import LauncherCommand
from worker.worker_context import WorkerContext

LAUNCHER_START_S = 120.0
"""The time limit of starting a launcher that imports torch."""


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


FEATURE = WorkerFeature(
    kinds=(PROGRAM,),
    start=_started,
    program_launcher=LauncherCommand(bootstrap=BOOTSTRAP, start_s=LAUNCHER_START_S),
)
