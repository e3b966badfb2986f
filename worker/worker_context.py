"""State shared by the consumers of one worker. `worker.worker_process` makes it once."""

from collections.abc import Callable
from dataclasses import dataclass

from jobs.submission import JobClient
from store.compilations import Compilations, Derived
from store.expected_outputs import ExpectedOutputs
from store.workers import Worker
from worker.compile.compile import CompileContext
from worker.consumer import Queue
from worker.gpu.supervisor.launcher_process import InputsBudget, LauncherCommand
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.launch.launch_children import Children
from worker.launch.reference_cache import ReferenceCache
from worker.pool.sandbox_report import ToolchainContext

DescribeWorker = Callable[[Worker], Worker]
"""Adds to what a worker says of itself."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Limits on the memory that launches take from a worker."""

    references: ReferenceCache
    """Of what references answered before; the CPU device and all GPUs share it."""
    in_flight_bytes: int
    """For uploads and outputs of the launches that are under way."""
    inputs: InputsBudget
    """Of each launcher, for what buffers start with."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """The shared objects. `branch` and `compiling` belong to the toolchain that launches."""

    name: str
    """The worker's id: those of its consumers begin with it."""
    queue: Queue
    slots: int
    branch: ToolchainContext
    compiling: CompileContext
    children: Children
    client: JobClient
    """For jobs that need other jobs."""
    compilations: Compilations
    derivations: Derived
    expected: ExpectedOutputs
    memory: MemoryBudget
    gpus: SharedGpus
    program_launcher: LauncherCommand | None = None
    """Starts launchers of programs; None if no feature runs programs."""
