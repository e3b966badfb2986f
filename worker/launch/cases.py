"""The cases of one launch, each from its arguments to its verdict."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any

from compiler.binding import BindingFailed
from compiler.compilation import Compilation
from compiler.constexpr import function_names
from compiler.job import CompileJob
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from compiler.resolution import specialized_job
from launch.request.case import Case, seeds_of
from launch.request.grid import parse_grid
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult, Output
from launch.request.launch_request import LaunchRequest
from launch.request.reference_request import Reference
from launch.request.verdict import Evidence, Verdict, verdict_of
from store.blobs import Blobs
from store.workers import Workers
from worker.compile.child_task import ChildTasks, TimeLimit
from worker.compile.compile import CompileContext
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import CutReport, KernelFacts, ParameterFacts, ParametersReport
from worker.launch.comparison import Actual, Compared, NotCompared, compare, not_checked
from worker.launch.gpu_run import GpuContext, run_on_gpu
from worker.launch.interpreter_run import interpret
from worker.launch.kept_outputs import Kept
from worker.launch.launch_children import Children
from worker.launch.precision import explained
from worker.launch.reference import Expected, expect, no_reference, of_kernel
from worker.launch.run import Deadline, DeadlinePassed, PreparedRun, RunResult
from worker.launch.run_binding import bind, bind_ir, facts_of, only, with_uploads

INTERPRETER_SMS = 1
_SLUGS = {"invalid_request": "invalid_argument"}
"""Of rejections that only a worker could make: there is no request any more to refuse."""


@dataclass(frozen=True, slots=True)
class CaseContext:
    """Where runs happen: children for user code and comparisons, and a GPU if it is one."""

    bench: CompileContext
    children: Children
    blobs: Blobs
    registry: Workers
    gpu: GpuContext | None

    @property
    def num_sms(self) -> int:
        """What NUM_SMS means in a grid."""
        facts = self.gpu.facts if self.gpu else None
        return facts.num_sms if facts else INTERPRETER_SMS


class Cases:
    """Runs cases; `compilation` is that of the last one, null on the interpreter."""

    def __init__(
        self,
        job: LaunchJob,
        request: LaunchRequest,
        place: CaseContext,
        deadline: Deadline,
        kept: Kept,
    ) -> None:
        self._job = job
        self._request = request
        self._place = place
        self._deadline = deadline
        self._kept = kept
        self._sources: dict[str, _PreparedSource] = {}
        self.compilation: Compilation | None = None
        self.compile_ms = 0.0

    async def prepare(self) -> None:
        """Cut the source that all cases run; there is none of IR.

        Raises CompilationFailed, DeadlinePassed.
        """
        if self._job.compile_job.source is not None:
            await self._prepared(self._job.compile_job)

    async def run(self, case: Case) -> CaseResult:
        """Return what came of a case: a verdict, or a problem where it could not be run."""
        result = CaseResult(index=case.index, name=case.name, seeds=seeds_of(case.bound))
        try:
            return await self._result(case, result)
        except BindingFailed as failed:
            problem = failure_problem(failed.slug, str(failed), failed.parameter)
        except RequestRejected as rejected:
            problem = failure_problem(_SLUGS.get(rejected.slug, rejected.slug), str(rejected))
        except DeadlinePassed as passed:
            problem = failure_problem("deadline_exceeded", str(passed))
        except NotCompared as lost:
            problem = failure_problem("worker_lost", str(lost))
        return result.model_copy(update={"problem": problem})

    async def _result(self, case: Case, result: CaseResult) -> CaseResult:
        run = await self._bound(self._job.compile_job, case)
        ran, expected = await _together(
            self._ran(self._job.compile_job, run), self._expected(case, run)
        )
        self._kept.printed(ran.stdout)
        if self.compilation is not None:
            result = result.model_copy(update={"compilation_key": self.compilation.key})
        if ran.problem is not None:
            return result.model_copy(update={"problem": ran.problem})
        return await self._judged(result, case, run, ran, expected)

    async def _bound(self, job: CompileJob, case: Case) -> PreparedRun:
        num_sms = self._place.num_sms
        if job.source is None:
            run = bind_ir(case.bound, case.grid, num_sms)
        else:
            facts = (await self._prepared(job)).facts
            run = bind(job, facts, case.bound, case.grid, num_sms)
        inits = [allocation.init for allocation in run.bound.allocations if allocation.init]
        digests = {init["digest"] for init in inits if init["kind"] == "tensor"}
        files = {digest: await self._uploaded(digest) for digest in sorted(digests)}
        return with_uploads(run, files) if files else run

    async def _uploaded(self, digest: str) -> bytes:
        data = await self._place.blobs.get(digest)
        if data is None:
            raise BindingFailed("evicted", f"the tensor {digest} is gone; upload it again", "init")
        return data

    async def _prepared(self, job: CompileJob) -> "_PreparedSource":
        """Return the cut of the source, and what Triton sees in the kernel's parameters.

        Raises CompilationFailed, DeadlinePassed.
        """
        if job.key not in self._sources:
            bench = self._place.bench
            limit = TimeLimit(self._deadline.limit_s(job.timeout_s))
            tasks = ChildTasks(bench.pool, bench.toolchain, job, Progress(), lambda _: None, limit)
            functions = function_names(job.specialization_json)
            header = {"kernel": job.kernel, "files": job.files, "functions": functions}
            cut = await tasks.run("cut", header, (job.source or "").encode(), CutReport)
            facts = facts_of(cut)
            if facts is None or not facts.sure:
                facts = await _asked(cut, job, tasks)
            self._sources[job.key] = _PreparedSource(cut, facts)
        return self._sources[job.key]

    async def _ran(self, job: CompileJob, run: PreparedRun) -> RunResult:
        gpu = self._place.gpu
        if gpu is None:
            trace = self._request.trace
            asked = {
                "checks": list(self._request.checks),
                "trace": trace.model_dump(mode="json") if trace else None,
            }
            return await self._interpreted(job, run, asked)
        if self._job.infers:
            job = specialized_job(job, run.inferred)
        ran, self.compilation, ms = await run_on_gpu(
            gpu, self._job, self._request, job, run, self._deadline
        )
        self.compile_ms += ms
        return ran

    async def _interpreted(
        self, job: CompileJob, run: PreparedRun, asked: Mapping[str, Any]
    ) -> RunResult:
        timeout_s, cut = self._request.timeout_s, (await self._prepared(job)).cut
        header = {"options": job.options, "target": job.target_name, **asked}
        return await interpret(
            self._place.children.kernels, cut, run, header, timeout_s, self._deadline
        )

    async def _expected(self, case: Case, run: PreparedRun) -> Expected | None:
        reference = case.reference
        if reference is None:
            return None
        if reference.compilation_key is not None:
            return await self._expected_of_kernel(case, reference, reference.compilation_key)
        timeout_s, place = self._request.timeout_s, self._place
        return await expect(
            place.children, reference, run, timeout_s, self._deadline, place.registry
        )

    async def _expected_of_kernel(self, case: Case, reference: Reference, key: str) -> Expected:
        """Run another kernel on the arguments that its parameters name."""
        job = self._job.references[key]
        grid = case.grid if reference.grid is None else parse_grid(reference.grid)
        try:
            names = await self._parameters(job)
            bound = case.bound if names is None else only(case.bound, names)
            run = await self._bound(job, replace(case, bound=bound, grid=grid))
        except (BindingFailed, RequestRejected, CompilationFailed) as error:
            return no_reference(f"the reference's kernel cannot be run: {error}")
        if self._place.gpu is None:
            return of_kernel(await self._interpreted(job, run, {}), run)
        ran, _, ms = await run_on_gpu(
            self._place.gpu, self._job, self._request, job, run, self._deadline, plain=True
        )
        self.compile_ms += ms
        return of_kernel(ran, run)

    async def _parameters(self, job: CompileJob) -> frozenset[str] | None:
        """Return the names of the kernel's parameters, None for IR, whose are arg0, arg1, ..."""
        if job.source is None:
            return None
        facts = (await self._prepared(job)).facts
        return frozenset(item.name for item in facts.parameters)

    async def _judged(
        self,
        result: CaseResult,
        case: Case,
        run: PreparedRun,
        ran: RunResult,
        expected: Expected | None,
    ) -> CaseResult:
        outputs: dict[str, Output] = {}
        matches: list[bool] = []
        if ran.outputs:
            returned = self._kept.granted(self._request.return_, run)
            actual = Actual(ran.outputs, ran.unwritten)
            compared = await self._compared(case, run, actual, expected, returned)
            outputs = await self._kept.files(case.index, compared.outputs, compared.files)
            outputs = await explained(outputs, run, self.compilation, self._place.blobs)
            matches += compared.matches
        if ran.timed_outputs:
            actual = Actual(ran.timed_outputs, ran.timed_unwritten)
            again = await self._compared(case, run, actual, expected, {})
            matches += again.matches
        if ran.trace is not None:
            await self._kept.trace(case.index, ran.trace)
        verdict = verdict_of(self._evidence(ran, expected, matches))
        failure = expected.failure if expected is not None else None
        if expected is not None and verdict is Verdict.NOT_CHECKED and not matches:
            failure = not_checked(outputs, run)
        update = {
            "verdict": verdict,
            "outputs": outputs,
            "deterministic": ran.deterministic,
            "timing": ran.timing,
            "profile": ran.profile,
            "findings": self._kept.findings([*ran.findings, *([failure] if failure else [])]),
        }
        return result.model_copy(update=update)

    async def _compared(
        self,
        case: Case,
        run: PreparedRun,
        actual: Actual,
        expected: Expected | None,
        returned: dict[str, str],
    ) -> Compared:
        pool = self._place.children.kernels
        return await compare(pool, run, actual, expected, case.reference, returned)

    def _evidence(self, ran: RunResult, expected: Expected | None, matches: list[bool]) -> Evidence:
        return Evidence(
            ending=ran.ending,
            findings=frozenset(finding.kind for finding in ran.findings),
            matches=tuple(matches),
            deterministic=ran.deterministic,
            checks=frozenset(self._request.checks),
            reference_failed=expected is not None and expected.failure is not None,
        )


@dataclass(frozen=True, slots=True)
class _PreparedSource:
    """A source whose kernel can be bound."""

    cut: CutReport
    facts: KernelFacts


async def _asked(cut: CutReport, job: CompileJob, tasks: ChildTasks) -> KernelFacts:
    """Return what the kernel's own function says, where the text alone cannot tell."""
    target = job.target
    header = {
        "kernel": cut.kernel,
        "files": cut.files,
        "touched": cut.touched,
        "target": {"backend": target.backend, "arch": target.arch, "warp_size": target.warp_size},
    }
    text = (cut.opinion or cut.slice).encode()
    report = await tasks.run("parameters", header, text, ParametersReport)
    known = facts_of(cut)
    written = {item.name: item.model_dump() for item in known.parameters} if known else {}
    nowhere = {"line": report.line, "column": 1, "set_by": None, "example": None}
    parameters = [
        ParameterFacts(**nowhere | written.get(item.name, {}) | item.model_dump())
        for item in report.parameters
    ]
    return KernelFacts(
        name=cut.kernel or report.kernel, line=report.line, parameters=parameters, sure=True
    )


async def _together(
    ran: Coroutine[Any, Any, RunResult], expected: Coroutine[Any, Any, Expected | None]
) -> tuple[RunResult, Expected | None]:
    """Return both; where one raises, the other is ended."""
    tasks = asyncio.ensure_future(ran), asyncio.ensure_future(expected)
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def detail_of(failure: CompilationFailed) -> str:
    """Return why the source cannot be used, with its line where that is known."""
    first = failure.diagnostics[0] if failure.diagnostics else None
    if first is None or first.line is None:
        return str(failure)
    hint = f" {first.hint}" if first.hint else ""
    return f"{first.file}:{first.line}: {first.message}{hint}"


def problem_of(failure: CompilationFailed) -> Problem:
    """Return the problem of a launch whose source cannot be used."""
    return failure_problem(failure.slug, detail_of(failure), failure.parameter)
