"""The cases of one launch, each from its arguments to its verdict."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from compiler.compilation import Compilation, amended
from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.problem import failure_problem
from compiler.rejection import RequestRejected
from compiler.request.resolution import specialized_job
from compiler.specialization import Specialization
from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import TuningOrder
from launch.request.case import Case
from launch.request.grid import parse_grid
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult
from launch.request.reference_request import Reference
from worker.compile.progress import CompilationFailed
from worker.gpu.timing_integrity.iteration_selection import PLACES
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.case_order import CaseOrder
from worker.launch.cases.judgement import Judgement, without_verdict
from worker.launch.comparison import NotCompared
from worker.launch.cpu_device import CpuDevice, warning_finding
from worker.launch.gpu.gpu_run import GpuContext, GpuLaunch
from worker.launch.kernel_ir import KernelIrs
from worker.launch.kernel_source import KernelSource, KernelSources
from worker.launch.launch_files import LaunchFiles
from worker.launch.reference import Expected, no_reference, of_kernel
from worker.launch.run import PreparedRun, RunResult
from worker.launch.run_binding import bind, bind_ir, select, with_uploads

MUCH_BYTES = 8 << 20
"""Limit of a case's bytes while it waits for a compile job; a larger one starts after the job."""
FollowUp = Callable[[CaseResult], Awaitable[CaseResult]]
"""Adds later findings to the result of a case."""
_SLUGS = {"invalid_request": "invalid_argument"}
"""New slugs for rejections by a worker, when there is no request to refuse any more."""


class Cases:
    """Runs the cases of one launch."""

    def __init__(
        self,
        job: LaunchJob,
        context: CaseContext,
        deadline: Deadline,
        files: LaunchFiles,
        *,
        plain: bool = False,
    ) -> None:
        """`plain`: runs on a GPU are neither timed nor checked."""
        self._job = job
        self._context = context
        self._deadline = deadline
        known = context.known_sources
        self._sources = KernelSources(context.compiling, deadline, known, context.child_slot)
        self._order = CaseOrder(job.stop_after_failures)
        self._judgement = Judgement(job, context, files, self._order, self._expect)
        self.compilation: Compilation | None = None
        """The compilation of the last case, or on the CPU device of a failed one."""
        self.kernel = job.compile_job.kernel
        """The kernel's name; None for IR, and before `prepare` if the request names none."""
        irs = KernelIrs(context.compiling, deadline, self._sources, context.known_irs)
        cpu = CpuDevice(context.children, context.compiling, job, deadline, irs)
        self._runs = _KernelRuns(job, cpu, context.gpu, deadline, plain=plain)

    @property
    def compile_ms(self) -> float:
        """The compile time of all cases together."""
        return self._runs.compile_ms

    async def prepare(self) -> None:
        """Find the kernel that all cases run in its source; there is none of IR.

        Raises CompilationFailed, DeadlinePassed.
        """
        if self._job.compile_job.source is not None:
            self.kernel = (await self._sources.read(self._job.compile_job)).facts.name

    def close(self) -> None:
        """End the children of this launch alone."""
        self._runs.close()

    async def keep(self) -> None:
        """Leave for others what was compiled on the way. Raises StoreUnavailable."""
        await self._runs.keep()

    async def bound(self, case: Case) -> PreparedRun:
        """Bind a case to its kernel; uploads are resolved later.

        Raises BindingFailed, RequestRejected, CompilationFailed, DeadlinePassed.
        """
        return await self._bind(self._job.compile_job, case)

    async def source(self) -> KernelSource:
        """Return the source of the kernel. Raises CompilationFailed, DeadlinePassed."""
        return await self._sources.read(self._job.compile_job)

    async def run_tuned(self, case: Case, tuning: TuningOrder) -> RunResult:
        """Run a case twice on the same memory, on the CPU device.

        Raises what `bound` does.
        """
        run = await self._with_uploads(await self.bound(case))
        return await self._runs.run_tuned(self._job.compile_job, run, tuning)

    async def run(self, case: Case, further: FollowUp | None = None) -> CaseResult:
        """Return what came of a case: a verdict, or a problem where it could not be run.

        Several may be running: what belongs in their order is done in it. One that must not run
        after all, as too many before it failed, waits until it is cancelled. What `further` finds
        out about a case counts among its failures.
        """
        failed = True
        try:
            result = await self._result_or_problem(case)
            if further is not None:
                self._order.leave(case.index)
                result = await further(result)
            failed = result.failed
            return result
        finally:
            self._order.end(case.index, failed=failed)

    async def _result_or_problem(self, case: Case) -> CaseResult:
        try:
            return await self._result(case)
        except BindingFailed as failed:
            problem = failure_problem(failed.slug, str(failed), failed.parameter)
        except RequestRejected as rejected:
            problem = failure_problem(_SLUGS.get(rejected.slug, rejected.slug), str(rejected))
        except DeadlinePassed as passed:
            problem = failure_problem("deadline_exceeded", str(passed))
        except NotCompared as lost:
            problem = failure_problem("worker_lost", str(lost))
        return without_verdict(case, problem)

    async def _result(self, case: Case) -> CaseResult:
        job = self._job.compile_job
        run = await self._bind(job, case)
        async with self._room_for(case, run):
            run = await self._with_uploads(run)
            may_run = partial(self._order.may_run, case.index)
            result, expected = await _together(
                self._runs.run(job, run, may_run), self._expect(case, run)
            )
            self.compilation = result.compilation
            return await self._judgement.judge(case, run, result, expected)

    @asynccontextmanager
    async def _room_for(self, case: Case, run: PreparedRun) -> AsyncIterator[None]:
        """Have room for what the case brings; one that brings much has its kernel compiled before.

        In the order of the cases, as they run in it, too. Raises DeadlinePassed.
        """
        size_bytes = run.needed_bytes
        if self._job.timing is not None and self._job.timing.fresh_inputs == "values":
            size_bytes += PLACES * run.output_bytes
        if size_bytes > MUCH_BYTES:
            await self._runs.prepare(self._job.compile_job, run)
        in_flight = self._context.in_flight
        if in_flight is None:
            yield
            return
        async with self._deadline.bounding():
            await self._order.memory.reach(case.index)
            await in_flight.take(size_bytes, self._job.caller)
        self._order.memory.leave(case.index)
        try:
            yield
        finally:
            in_flight.give_back(size_bytes)

    async def _bind(self, job: CompileJob, case: Case) -> PreparedRun:
        num_sms = self._context.num_sms
        if job.source is None:
            run = bind_ir(case.bound, case.grid, num_sms)
        else:
            facts = (await self._sources.read(job)).facts
            run = bind(job, facts, case.bound, case.grid, num_sms)
        return run

    async def _with_uploads(self, run: PreparedRun) -> PreparedRun:
        inits = [allocation.init for allocation in run.bound.allocations if allocation.init]
        digests = {init["digest"] for init in inits if init["kind"] == "tensor"}
        files = {digest: await self._read_upload(digest) for digest in sorted(digests)}
        # in a thread: it joins the files
        return await asyncio.to_thread(with_uploads, run, files) if files else run

    async def _read_upload(self, digest: str) -> bytes:
        data = await self._context.blobs.get(digest)
        if data is None:
            raise BindingFailed("evicted", f"the tensor {digest} is gone; upload it again", "init")
        return data

    async def _expect(self, case: Case, run: PreparedRun, *, keep: bool = True) -> Expected | None:
        reference = case.reference
        if reference is None:
            return None
        if reference.compilation_key is not None:
            return await self._expected_of_kernel(case, reference, reference.compilation_key)
        timeout_s, references = self._job.timeout_s, self._context.references
        return await references.expect(reference, run, timeout_s, self._deadline, keep=keep)

    async def _expected_of_kernel(self, case: Case, reference: Reference, key: str) -> Expected:
        """Run another kernel on the arguments that its parameters name."""
        job = self._job.references[key]
        grid = case.grid if reference.grid is None else parse_grid(reference.grid)
        try:
            names = await self._sources.parameter_names(job)
            bound = case.bound if names is None else select(case.bound, names)
            run = await self._bind(job, amended(case, bound=bound, grid=grid))
            run = await self._with_uploads(run)
        except (BindingFailed, RequestRejected, CompilationFailed) as error:
            return no_reference(f"the reference's kernel cannot be run: {error}")
        return of_kernel(await self._runs.run_reference(job, run), run)


async def _together(
    run: Coroutine[Any, Any, RunResult], expected: Coroutine[Any, Any, Expected | None]
) -> tuple[RunResult, Expected | None]:
    """Return both; where one raises, the other is ended."""
    tasks = asyncio.ensure_future(run), asyncio.ensure_future(expected)
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class _KernelRuns:
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
            diagnostics = kernel.compilation.diagnostics
            result.findings += [warning_finding(each) for each in diagnostics if each.is_warning]
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
