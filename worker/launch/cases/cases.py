"""The cases of one launch, each from its arguments to its verdict."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from compiler.compilation import Compilation, amended
from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.problem import failure_problem
from compiler.rejection import RequestRejected
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
from worker.launch.cpu_device import CpuDevice
from worker.launch.kernel_ir import KernelIrs
from worker.launch.kernel_runs import KernelRuns
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
        self._runs = KernelRuns(job, cpu, context.gpu, deadline, plain=plain)

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
        """Return the run that a case is, but for its uploads.

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

        Several may be under way: what belongs in their order is done in it. One that must not run
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
