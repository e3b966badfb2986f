"""A feature of the worker: the consumer of its jobs, and what others may ask of it.

The core imports no feature, but knows that one may prove kernels or start launchers for programs.
`worker.composition` finds them by the names in `jobs.features`. Without one of them, everything
else works.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.kind import JobKind
from worker.gpu.supervisor.launcher_process import LauncherCommand
from worker.pool.idle_time import IdleTime
from worker.pool.zygote_client import ZygoteToolchain
from worker.worker_context import DescribeWorker, ProveKernel, ProveLaunch, WorkerContext


class Part(Protocol):
    """A consumer, or several, that a worker runs."""

    async def run(self) -> None:
        """Do jobs until cancelled."""

    async def drain(self) -> None:
        """Take no further job, and return when those that run have ended."""


@dataclass(frozen=True, slots=True)
class ChildSettings:
    """A feature's way to start zygotes, as for launches."""

    toolchain: ZygoteToolchain
    on_outdated: Callable[[], None]
    idle: IdleTime


@dataclass(frozen=True, slots=True)
class RunningFeature:
    """A feature in one worker."""

    part: Part | None
    """None if it does no jobs here."""
    describe: DescribeWorker | None = None
    """Adds to the worker's registration."""


@dataclass(frozen=True, slots=True)
class WorkerFeature:
    """The feature's additions to a worker."""

    kinds: Sequence[JobKind[Any]]
    """The kinds of its jobs."""
    start: Callable[[WorkerContext, ChildSettings], AbstractAsyncContextManager[RunningFeature]]
    """The context that it works in: children that it starts end with it."""
    prove_launch: ProveLaunch | None = None
    """Its way to prove the kernel of a launch."""
    prove_kernel: ProveKernel | None = None
    """Its way to prove a kernel with a contract."""
    program_launcher: LauncherCommand | None = None
    """The way to start its processes that run programs on a GPU."""
