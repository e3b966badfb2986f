"""State shared by the consumers of one worker. `worker.worker_process` makes it once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from compiler.job import CompileJob
from jobs.deadline import Deadline
from jobs.submission import JobClient, JobOrder
from launch.request.launch_job import LaunchJob
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

ProveLaunch = Callable[["WorkerContext", LaunchJob, Deadline], Awaitable[BaseModel]]
"""Returns the record of a proof."""


@dataclass(frozen=True, slots=True)
class WantedProof:
    """A kernel to prove: the compilation that makes its TTIR, and the proof's job by its id."""

    compile_job: CompileJob
    order: Callable[[str], JobOrder[Any]]


ProveKernel = Callable[[CompileJob | LaunchJob, str, str], WantedProof]
"""Takes a kernel, its contract and whose proof it is."""
DescribeWorker = Callable[[Worker], Worker]
"""Adds to a worker's registration."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Limits on the memory that launches take from a worker."""

    references: ReferenceCache
    """Earlier answers of references, shared by the CPU device and all GPUs."""
    in_flight_bytes: int
    """The budget for uploads and outputs of running launches."""
    inputs: InputsBudget
    """The budget of each launcher for initial contents of buffers."""


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
    """Submits the jobs that other jobs need."""
    compilations: Compilations
    derivations: Derived
    expected: ExpectedOutputs
    memory: MemoryBudget
    gpus: SharedGpus
    prove_launch: ProveLaunch | None = None
    """Proves the kernel of a launch; None if no feature does."""
    prove_kernel: ProveKernel | None = None
    """Makes the job that proves a kernel with a contract; None if no feature does."""
    program_launcher: LauncherCommand | None = None
    """Starts launchers of programs; None if no feature runs programs."""
