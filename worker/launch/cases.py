"""The cases of one launch, each from its arguments to its verdict."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from compiler.compilation import Compilation, amended
from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from launch.request.case import Case, seeds_of
from launch.request.grid import parse_grid
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult, Output
from launch.request.launch_request import LaunchRequest, ReturnMode
from launch.request.reference_request import Reference
from launch.request.verdict import Evidence, Verdict, verdict_of
from store.blobs import Blobs
from worker.bytes_in_flight import BytesInFlight
from worker.compile.compile import CompileContext
from worker.compile.progress import CompilationFailed
from worker.gpu.evidence.repeat_selection import PLACES
from worker.launch.case_order import CaseOrder
from worker.launch.comparison import Actual, Compared, NotCompared, compare, not_checked
from worker.launch.cpu_device import CpuDevice
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.gpu.profile_lines import add_lines
from worker.launch.gpu.timed_repeats import (
    JudgedRepeats,
    Seeds,
    add_repeats,
    judge_repeats,
    on_seeds,
)
from worker.launch.kernel_ir import KernelIr, KernelIrs
from worker.launch.kernel_runs import KernelRuns
from worker.launch.kernel_source import KernelMemory, KernelSource, KernelSources
from worker.launch.launch_children import ChildPlace, Children
from worker.launch.launch_files import LaunchFiles
from worker.launch.mismatch_explanation import explain
from worker.launch.reference import Expected, no_reference, of_kernel
from worker.launch.run import Deadline, DeadlinePassed, PreparedRun, RunResult
from worker.launch.run_binding import bind, bind_ir, select, with_uploads

CPU_SMS = 1
MUCH_BYTES = 8 << 20
"""What a case may bring that waits for a compile job; one that brings more comes when that is over.
"""
_SLUGS = {"invalid_request": "invalid_argument"}
"""Of rejections that only a worker could make: there is no request any more to refuse."""


class Answers(Protocol):
    """What says what the outputs of a run should be."""

    async def expect(
        self,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        *,
        keep: bool = True,
    ) -> Expected:
        """Return what the source of `reference` answers. Raises DeadlinePassed."""
        ...


@dataclass(frozen=True, slots=True)
class CaseContext:
    """Where runs happen: children for user code and comparisons, and a GPU if it is one.

    `references` are those of this launch, and are closed by whoever made them.
    """

    compiling: CompileContext
    children: Children
    blobs: Blobs
    references: Answers
    gpu: GpuContext | None
    known_sources: KernelMemory[KernelSource] | None = None
    known_irs: KernelMemory[KernelIr] | None = None
    """What this worker's launches before it found out."""
    place: ChildPlace = nullcontext
    in_flight: BytesInFlight | None = None
    """What bounds the memory of all cases that are under way; None: nothing more than slots do."""

    @property
    def num_sms(self) -> int:
        """What NUM_SMS means in a grid."""
        facts = self.gpu.facts if self.gpu else None
        return facts.num_sms if facts else CPU_SMS


class Cases:
    """Runs the cases of one launch."""

    def __init__(
        self,
        job: LaunchJob,
        request: LaunchRequest,
        context: CaseContext,
        deadline: Deadline,
        files: LaunchFiles,
        *,
        plain: bool = False,
    ) -> None:
        """`plain`: runs on a GPU are neither timed nor checked."""
        self._job = job
        self._request = request
        self._context = context
        self._deadline = deadline
        self._files = files
        known = context.known_sources
        self._sources = KernelSources(context.compiling, deadline, known, context.place)
        self._order = CaseOrder(request.stop_after_failures)
        self.compilation: Compilation | None = None
        """That of the case that ran last, on the CPU device of one that failed."""
        irs = KernelIrs(context.compiling, deadline, self._sources, context.known_irs)
        cpu = CpuDevice(context.children, context.compiling, request, deadline, self._sources, irs)
        self._runs = KernelRuns(job, request, cpu, context.gpu, deadline, plain=plain)

    @property
    def compile_ms(self) -> float:
        """What compiling took, of all cases together."""
        return self._runs.compile_ms

    async def prepare(self) -> None:
        """Find the kernel that all cases run in its source; there is none of IR.

        Raises CompilationFailed, DeadlinePassed.
        """
        if self._job.compile_job.source is not None:
            await self._sources.read(self._job.compile_job)

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

    async def run(self, case: Case) -> CaseResult:
        """Return what came of a case: a verdict, or a problem where it could not be run.

        Several may be under way: what belongs in their order is done in it. One that must not run
        after all, as too many before it failed, waits until it is cancelled.
        """
        failed = True
        try:
            result = await self._result_or_problem(case)
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
        return _without_verdict(case, problem)

    async def _result(self, case: Case) -> CaseResult:
        job = self._job.compile_job
        run = await self._bind(job, case)
        async with self._room_for(case, run):
            run = await self._with_uploads(run)
            may_run = partial(self._order.may_run, case.index)
            result, expected = await _together(
                self._runs.run(job, run, case.reference, may_run), self._expect(case, run)
            )
            self.compilation = result.compilation
            return await self._judge(case, run, result, expected)

    @asynccontextmanager
    async def _room_for(self, case: Case, run: PreparedRun) -> AsyncIterator[None]:
        """Have room for what the case brings; one that brings much has its kernel compiled before.

        In the order of the cases, as they run in it, too. Raises DeadlinePassed.
        """
        size_bytes = run.needed_bytes
        if self._request.timing is not None and self._request.timing.fresh_inputs == "values":
            size_bytes += PLACES * run.output_bytes
        if size_bytes > MUCH_BYTES:
            await self._runs.prepare(self._job.compile_job, run)
        await self._order.memory.reach(case.index)
        if self._context.in_flight is None:
            yield
            return
        async with self._context.in_flight.room_for(size_bytes):
            self._order.memory.leave(case.index)
            yield

    def _key_of(self, result: RunResult) -> str | None:
        """Return that of what ran; what the CPU device compiles is not kept under any."""
        if result.compilation is None or self._context.gpu is None:
            return None
        return result.compilation.key

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
        return with_uploads(run, files) if files else run

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
        timeout_s, references = self._request.timeout_s, self._context.references
        return await references.expect(reference, run, timeout_s, self._deadline, keep=keep)

    async def _expected_of_kernel(self, case: Case, reference: Reference, key: str) -> Expected:
        """Run another kernel on the arguments that its parameters name."""
        job = self._job.references[key]
        grid = case.grid if reference.grid is None else parse_grid(reference.grid)
        try:
            names = await self._sources.parameter_names(job)
            bound = case.bound if names is None else select(case.bound, names)
            run = await self._bind(job, replace(case, bound=bound, grid=grid))
            run = await self._with_uploads(run)
        except (BindingFailed, RequestRejected, CompilationFailed) as error:
            return no_reference(f"the reference's kernel cannot be run: {error}")
        return of_kernel(await self._runs.run_reference(job, run), run)

    async def _judge(
        self, case: Case, run: PreparedRun, result: RunResult, expected: Expected | None
    ) -> CaseResult:
        if result.problem is not None:
            return await self._not_judged(case, result, result.problem)
        await add_lines(result, result.compilation, self._context.compiling)
        outputs, files, matches = await self._outputs(case, run, result, expected)
        repeats = JudgedRepeats()
        if all(matches):
            repeats = await self._judge_repeats(case, run, result, expected)
            matches += repeats.matches
        await self._order.stored.reach(case.index)
        self._files.add_stdout(result.stdout)
        outputs = await self._files.add_outputs(case.index, outputs, files)
        if result.trace is not None:
            await self._files.add_trace(case.index, result.trace)
        evidence = self._evidence(result, expected, matches)
        verdict = verdict_of(
            replace(
                evidence, reference_failed=evidence.reference_failed or repeats.reference_failed
            )
        )
        failure = expected.failure if expected is not None else None
        if expected is not None and verdict is Verdict.NOT_CHECKED and not matches:
            failure = not_checked(outputs, run)
        findings = [*result.findings, *([failure] if failure else [])]
        return CaseResult(
            index=case.index,
            name=case.name,
            verdict=verdict,
            compilation_key=self._key_of(result),
            outputs=outputs,
            deterministic=result.deterministic,
            timing=result.timing,
            profile=self._files.bound_profile(result.profile),
            findings=self._files.bound_findings(findings),
            seeds=seeds_of(case.bound),
        )

    async def _not_judged(self, case: Case, result: RunResult, problem: Problem) -> CaseResult:
        await self._order.stored.reach(case.index)
        self._files.add_stdout(result.stdout)
        found = self._files.bound_findings(result.findings)
        return amended(_without_verdict(case, problem, self._key_of(result)), findings=found)

    async def _outputs(
        self, case: Case, run: PreparedRun, result: RunResult, expected: Expected | None
    ) -> tuple[dict[str, Output], dict[str, bytes], list[bool]]:
        """Return the outputs, their files, and which match; those of the last timed run too."""
        outputs: dict[str, Output] = {}
        files: dict[str, bytes] = {}
        matches: list[bool] = []
        if result.outputs:
            await self._order.returned.reach(case.index)
            returned = self._files.choose_returned(self._request.return_, run)
            self._order.returned.leave(case.index)
            actual = Actual(result.outputs, result.unwritten)
            compared = await self._compare(case, run, actual, expected, returned, result.ir)
            files, matches = compared.files, compared.matches
            outputs = explain(compared.outputs, run, compared.downgrades)
            result.findings += compared.downgrades.values()
        return outputs, files, matches

    async def _judge_repeats(
        self, case: Case, run: PreparedRun, result: RunResult, expected: Expected | None
    ) -> JudgedRepeats:
        """Compare the timed runs that were sent, on their own inputs; add what is found of them."""

        async def expect(seeds: Seeds) -> Expected | None:
            if not seeds:
                return expected
            on_these = replace(case, bound=on_seeds(case.bound, seeds))
            run_on_these = replace(run, bound=on_seeds(run.bound, seeds))
            return await self._expect(on_these, run_on_these, keep=False)

        async def compare_on(actual: Actual, other: Expected) -> Compared:
            unasked: dict[str, ReturnMode] = dict.fromkeys(actual.outputs, "none")
            return await self._compare(case, run, actual, other, unasked)

        judged = await judge_repeats(
            result.repeats, expect, compare_on, is_changed=result.keeps_state
        )
        add_repeats(result, judged)
        return judged

    async def _compare(
        self,
        case: Case,
        run: PreparedRun,
        actual: Actual,
        expected: Expected | None,
        returned: dict[str, ReturnMode],
        ir: bytes = b"",
    ) -> Compared:
        pool = self._context.children.kernels
        return await compare(pool, run, actual, expected, case.reference, returned, ir)

    def _evidence(
        self, result: RunResult, expected: Expected | None, matches: list[bool]
    ) -> Evidence:
        return Evidence(
            ending=result.ending,
            findings=frozenset(finding.kind for finding in result.findings),
            matches=tuple(matches),
            deterministic=result.deterministic,
            checks=frozenset(self._request.checks),
            reference_failed=expected is not None and expected.failure is not None,
        )


def _without_verdict(
    case: Case, problem: Problem, compilation_key: str | None = None
) -> CaseResult:
    return CaseResult(
        index=case.index,
        name=case.name,
        compilation_key=compilation_key,
        seeds=seeds_of(case.bound),
        problem=problem,
    )


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
