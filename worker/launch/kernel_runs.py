"""The runs of a launch's kernels on its device: a GPU, or the CPU device."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from compiler.job import CompileJob
from compiler.request.resolution import specialized_job
from compiler.specialization import Specialization
from jobs.deadline import Deadline
from launch.messages import TuningOrder
from launch.request.launch_job import LaunchJob
from worker.launch.cpu_device import CpuDevice, warning_finding
from worker.launch.gpu.gpu_run import GpuContext, GpuLaunch
from worker.launch.run import PreparedRun, RunResult


class KernelRuns:
    """Runs the kernels of one launch: several at a time, where that is asked of it."""

    def __init__(
        self,
        job: LaunchJob,
        cpu: CpuDevice,
        gpu: GpuContext | None,
        deadline: Deadline,
        *,
        plain: bool = False,
    ) -> None:
        """`plain`: runs on a GPU are neither timed nor checked."""
        self._plain = plain
        self._job = job
        self._cpu = cpu
        self._gpu = GpuLaunch(gpu, job, deadline) if gpu is not None else None
        self._compiling = _Stopwatch()
        self._jobs: list[tuple[Specialization, CompileJob]] = []
        """Jobs by specialization: making one again, with its key, takes longer."""

    @property
    def compile_ms(self) -> float:
        """The time during which this launch waited for compilations."""
        return self._compiling.ms + self._cpu.compile_ms

    async def prepare(self, job: CompileJob, run: PreparedRun) -> None:
        """Have what `run` needs compiled, on a GPU. Raises DeadlinePassed."""
        if self._gpu is not None:
            with self._compiling.running():
                await self._gpu.kernel_of(self._specialized(job, run))

    async def run(
        self, job: CompileJob, run: PreparedRun, may_run: Callable[[], Awaitable[None]]
    ) -> RunResult:
        """Run the launch's own kernel with all that is asked for.

        It does not begin before `may_run` returns. Raises RequestRejected, DeadlinePassed,
        DeviceCordoned.
        """
        job = self._specialized(job, run)
        if self._gpu is not None:
            return await self._on_gpu(self._gpu, job, run, may_run)
        await may_run()
        return await self._on_cpu(job, run)

    async def run_reference(self, job: CompileJob, run: PreparedRun) -> RunResult:
        """Run the kernel of a reference, neither timed nor checked. Raises what `run` does."""
        if self._gpu is None:
            return await self._cpu.run(job, run)
        with self._compiling.running():
            kernel = await self._gpu.kernel_of(job)
        return await self._gpu.run(kernel, run, plain=True)

    async def run_tuned(self, job: CompileJob, run: PreparedRun, tuning: TuningOrder) -> RunResult:
        """Run the launch's own kernel twice on the CPU device. Raises what `run` does."""
        return await self._cpu.run(self._specialized(job, run), run, tuning=tuning)

    async def keep(self) -> None:
        """Leave for others what was compiled on the way. Raises StoreUnavailable."""
        await self._cpu.irs.keep()

    def close(self) -> None:
        """End the children of this launch alone."""
        self._cpu.close()

    async def _on_cpu(self, job: CompileJob, run: PreparedRun) -> RunResult:
        asked = self._job
        result = await self._cpu.run(job, run, checks=asked.checks, trace=asked.trace)
        result.compilation = self._cpu.compilation
        return result

    def _specialized(self, job: CompileJob, run: PreparedRun) -> CompileJob:
        if not self._job.infers:
            return job
        for known, specialized in self._jobs:
            if known == run.inferred:
                return specialized
        self._jobs.append((run.inferred, specialized_job(job, run.inferred)))
        return self._jobs[-1][1]

    async def _on_gpu(
        self,
        gpu: GpuLaunch,
        job: CompileJob,
        run: PreparedRun,
        may_run: Callable[[], Awaitable[None]],
    ) -> RunResult:
        with self._compiling.running():
            kernel = await gpu.kernel_of(job)
        await may_run()
        result = await gpu.run(kernel, run, plain=self._plain)
        result.compilation = kernel.compilation
        if result.problem is None:
            found = kernel.compilation.diagnostics
            result.findings += [warning_finding(each) for each in found if each.is_warning]
        return result


class _Stopwatch:
    """Milliseconds in which something ran, however many at once."""

    def __init__(self) -> None:
        self.ms = 0.0
        self._running = 0
        self._started = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        if not self._running:
            self._started = time.monotonic()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self.ms += (time.monotonic() - self._started) * 1000
