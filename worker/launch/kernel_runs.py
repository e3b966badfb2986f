"""The runs of a launch's kernels on its device: a GPU, or the CPU device.

Also what else a run is compared with where that is asked for.
"""

from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.resolution import specialized_job
from launch.request.launch_job import LaunchJob
from launch.request.launch_request import LaunchRequest
from launch.request.reference_request import Reference
from worker.launch.cpu_device import CpuDevice, warning_finding
from worker.launch.differential import (
    CPU,
    DIFFERENTIAL,
    GPU,
    INTERPRETER,
    OtherRun,
    disagreements,
)
from worker.launch.gpu.gpu_run import GpuContext, run_on_gpu
from worker.launch.run import Deadline, PreparedRun, RunResult


class KernelRuns:
    """Runs kernels; `compilation` is that of the last run, on the CPU device of one that failed.

    `compile_ms` is what compiling took, of all runs together.
    """

    def __init__(
        self,
        job: LaunchJob,
        request: LaunchRequest,
        cpu: CpuDevice,
        gpu: GpuContext | None,
        deadline: Deadline,
    ) -> None:
        self._job, self._request = job, request
        self._cpu, self._gpu = cpu, gpu
        self._deadline = deadline
        self._gpu_compile_ms = 0.0
        self.compilation: Compilation | None = None

    @property
    def compile_ms(self) -> float:
        """What compiling took."""
        return self._gpu_compile_ms + self._cpu.compile_ms

    async def run(
        self, job: CompileJob, run: PreparedRun, reference: Reference | None
    ) -> RunResult:
        """Run the launch's own kernel with all that is asked for; `reference` has the tolerance.

        Raises RequestRejected, DeadlinePassed, NotCompared, DeviceDrained.
        """
        if self._job.infers:
            job = specialized_job(job, run.inferred)
        result = await (self._on_cpu(job, run) if self._gpu is None else self._on_gpu(job, run))
        if DIFFERENTIAL in self._request.checks and result.problem is None:
            name, others = self._others(job, run, result)
            pool = self._cpu.children.kernels
            result.findings += await disagreements(pool, run, result, name, others, reference)
        return result

    async def run_reference(self, job: CompileJob, run: PreparedRun) -> RunResult:
        """Run the kernel of a reference, neither timed nor checked. Raises what `run` does."""
        if self._gpu is None:
            return await self._cpu.run(job, run)
        result, _, ms = await run_on_gpu(
            self._gpu, self._job, self._request, job, run, self._deadline, plain=True
        )
        self._gpu_compile_ms += ms
        return result

    async def keep(self) -> None:
        """Leave for others what was compiled on the way. Raises StoreUnavailable."""
        await self._cpu.irs.keep()

    def close(self) -> None:
        """End the children of this launch alone."""
        self._cpu.close()

    async def _on_cpu(self, job: CompileJob, run: PreparedRun) -> RunResult:
        request = self._request
        result = await self._cpu.run(job, run, checks=request.checks, trace=request.trace)
        self.compilation = self._cpu.compilation
        return result

    async def _on_gpu(self, job: CompileJob, run: PreparedRun) -> RunResult:
        assert self._gpu is not None
        result, self.compilation, ms = await run_on_gpu(
            self._gpu, self._job, self._request, job, run, self._deadline
        )
        self._gpu_compile_ms += ms
        if result.problem is None and self.compilation is not None:
            found = self.compilation.diagnostics
            result.findings += [warning_finding(each) for each in found if each.is_warning]
        return result

    def _others(
        self, job: CompileJob, run: PreparedRun, result: RunResult
    ) -> tuple[str, list[OtherRun]]:
        """Return the name of what ran the kernel, and what else is to."""
        interpreter = OtherRun(INTERPRETER, lambda: self._cpu.interpret(job, run))
        if self._gpu is not None:
            return GPU, [OtherRun(CPU, lambda: self._cpu.run(job, run)), interpreter]
        return CPU, [] if self._cpu.interpreted(result) else [interpreter]
