"""One claimed launch job: facts, cases, runs, references, comparisons, verdicts, record.

Runs in the worker parent. Each thing that somebody else's code can touch happens in a child; this
only moves what they say from one to the next, and judges.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from compiler.binding import BindingFailed
from compiler.compilation import Compilation
from compiler.launch.case import Case, seeds_of
from compiler.launch.grid import NUM_SMS
from compiler.launch.inference import infer
from compiler.launch.job import LaunchJob, new_launch
from compiler.launch.launch import (
    CaseResult,
    Device,
    Launch,
    Output,
    launch_url,
    with_cases,
    with_run,
)
from compiler.launch.request import LaunchRequest
from compiler.launch.resolution import Resolved, grid_values, resolve_launch
from compiler.launch.verdict import Evidence, verdict_of
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from compiler.resolution import specialized_job
from compiler.specialization import Specialization
from compiler.value import function_names
from store.blobs import Blobs
from store.errors import StoreUnavailable
from store.jobs.attempts import Attempts
from store.jobs.words import KEPT_S, Claim, Lapse
from store.launches import LIFE_S, Launches
from worker.child_task import ChildTasks
from worker.compile import Bench
from worker.launch.children import Expected, compare, expect, interpret
from worker.launch.gpu import GpuDesk, run_on_gpu
from worker.launch.run import Ran, Run
from worker.pool import Pool
from worker.progress import CompilationFailed, Progress
from worker.report import CutReport

logger = logging.getLogger(__name__)
INTERPRETER_SMS = 1


@dataclass(frozen=True, slots=True)
class LaunchDesk:
    """What launches are done with."""

    attempts: Attempts
    launches: Launches
    blobs: Blobs
    bench: Bench
    pool: Pool
    """Of the children of launches; those of compilations are the bench's."""
    gpu: GpuDesk | None = None
    """None: on the interpreter."""


async def do_launch(claim: Claim, desk: LaunchDesk) -> None:
    """Do the launch of `claim` and finish it.

    Raises StoreUnavailable; whatever happens to the launch itself becomes its record.
    """
    job = LaunchJob.model_validate_json(claim.payload)
    way = _Way(job, job.read_request(), desk)
    started = time.monotonic()
    try:
        launch = await way.launch()
    except (StoreUnavailable, asyncio.CancelledError):
        raise
    except Exception:
        # a mistake of ours must be an answer too, not a launch that nobody can finish
        logger.exception("launching %s", job.id)
        detail = "The worker made a mistake; its log holds the details under the launch's id."
        launch = failed_launch(job, failure_problem("worker_lost", detail))
    run_ms = (time.monotonic() - started) * 1000
    queue_ms = float(claim.started_at_ms - claim.submitted_at_ms)
    timings_ms = {
        "queue": queue_ms,
        "compile": way.compile_ms,
        "run": run_ms - way.compile_ms,
        "total": queue_ms + run_ms,
    }
    launch = launch.model_copy(
        update={"timings_ms": {k: round(v, 3) for k, v in timings_ms.items()}}
    )
    record = launch.model_dump_json().encode()
    await desk.attempts.finish(claim.id, claim.token, record, reusable=False, keep_s=LIFE_S)


def failed_launch(job: LaunchJob, problem: Problem) -> Launch:
    """Return a launch that could not be done."""
    return new_launch(job, "failed").model_copy(update={"problem": problem})


async def end_lapsed_launch(claim: Claim, attempts: Attempts) -> None:
    """Finish a launch that no worker will do, with a record that says why."""
    job = LaunchJob.model_validate_json(claim.payload)
    detail = "No worker took this launch within its deadline_s."
    if claim.lapse is Lapse.EXHAUSTED:
        detail = "Three workers in a row were lost while they ran this launch."
    record = failed_launch(job, failure_problem("worker_lost", detail)).model_dump_json().encode()
    await attempts.finish(claim.id, claim.token, record, reusable=False, keep_s=KEPT_S)


class _Way:
    """The way of one launch."""

    def __init__(self, job: LaunchJob, request: LaunchRequest, desk: LaunchDesk) -> None:
        self._job = job
        self._request = request
        self._desk = desk
        self._stdout: list[str] = []
        self._outputs: dict[str, str] = {}
        self._compilation: Compilation | None = None
        self.compile_ms = 0.0

    async def launch(self) -> Launch:
        try:
            resolved = resolve_launch(self._request)
            cut = await self._cut()
        except CompilationFailed as failure:
            return failed_launch(self._job, failure_problem(failure.slug, str(failure)))
        except RequestRejected as rejected:
            return failed_launch(self._job, failure_problem("compile_error", str(rejected)))
        results = await self._cases(resolved, cut)
        await self._desk.launches.keep_outputs(self._job.id, self._outputs)
        launch = new_launch(self._job, "completed")
        launch = launch.model_copy(update={"stdout": "".join(self._stdout)})
        launch = self._placed(launch)
        if self._request.cases:
            return with_cases(launch, results)
        return with_run(launch, results[0])

    def _placed(self, launch: Launch) -> Launch:
        """Return `launch` with its compilation, and with the GPU that ran it."""
        facts = self._desk.gpu.facts if self._desk.gpu else None
        if facts is None:
            return launch
        device = Device(
            target=facts.target, model=facts.model, driver=facts.driver, interpreter=False
        )
        compilation = None if self._request.cases else self._compilation
        return launch.model_copy(update={"device": device, "compilation": compilation})

    async def _cut(self) -> CutReport:
        job, bench = self._job.compile_job, self._desk.bench
        deadline = time.monotonic() + job.timeout_s
        tasks = ChildTasks(bench.pool, bench.toolchain, job, Progress(), lambda _: None, deadline)
        functions = function_names(job.specialization_json)
        header = {"kernel": job.kernel, "files": job.files, "functions": functions}
        return await tasks.run("cut", header, (job.source or "").encode(), CutReport)

    async def _cases(self, resolved: Resolved, cut: CutReport) -> list[CaseResult]:
        results: list[CaseResult] = []
        limit = self._request.stop_after_failures
        for case in resolved.cases:
            if limit is not None and sum(result.failed for result in results) >= limit:
                break
            results.append(await self._case(case, cut))
        return results

    async def _case(self, case: Case, cut: CutReport) -> CaseResult:
        result = CaseResult(index=case.index, name=case.name, seeds=seeds_of(case.bound))
        try:
            run = await self._run_of(case, cut)
        except BindingFailed as error:
            problem = failure_problem(error.slug, str(error), error.parameter)
            return result.model_copy(update={"problem": problem})
        except RequestRejected as rejected:
            problem = failure_problem("invalid_argument", str(rejected))
            return result.model_copy(update={"problem": problem})
        expecting = self._expecting(case, run)
        try:
            ran, expected = await asyncio.gather(self._ran(cut, run), expecting)
        except RequestRejected as rejected:
            problem = failure_problem("invalid_argument", str(rejected))
            return result.model_copy(update={"problem": problem})
        self._stdout.append(ran.stdout)
        if self._compilation is not None:
            result = result.model_copy(update={"compilation_key": self._compilation.key})
        if ran.problem is not None:
            return result.model_copy(update={"problem": ran.problem})
        return await self._judged(result, case, run, ran, expected)

    async def _run_of(self, case: Case, cut: CutReport) -> Run:
        facts = next((known for known in cut.facts.kernels if known.name == cut.kernel), None)
        if facts is None:
            raise BindingFailed(
                "unknown_kernel",
                "this kernel is only found by executing its source; launches need a plain one",
                "kernel",
            )
        parameters = [parameter.model_dump() for parameter in facts.parameters]
        specialization = self._job.compile_job.specialization
        positions = zip(facts.parameters, specialization.positional, strict=False)
        named = specialization.named | {known.name: item for known, item in positions}
        given = {name: item for name, item in named.items() if item.is_constexpr}
        inferred = infer(facts.name, parameters, case.bound, given)
        values = grid_values(Specialization(given), inferred.arguments)
        grid = case.grid.evaluate(values | {NUM_SMS: self._num_sms()})
        bound, uploads = await self._uploaded(inferred.arguments)
        constants = Specialization(given)
        return Run(facts.name, bound, grid, constants, inferred.specialization, uploads)

    async def _uploaded(self, bound: Any) -> tuple[Any, bytes]:
        allocations, uploads = [], b""
        for allocation in bound.allocations:
            if allocation.init is not None and allocation.init["kind"] == "tensor":
                data = await self._desk.blobs.get(allocation.init["digest"])
                if data is None:
                    digest = allocation.init["digest"]
                    message = f"the tensor {digest} of `{allocation.name}` is gone; upload it again"
                    raise BindingFailed("evicted", message, allocation.name)
                place = (len(uploads), len(data))
                allocation = allocation.model_copy(update={"body": place})
                uploads += data
            allocations.append(allocation)
        return bound.model_copy(update={"allocations": allocations}), uploads

    def _expecting(self, case: Case, run: Run) -> Awaitable[Expected | None]:
        if case.reference is None or case.reference.source is None:
            return _nothing()
        return expect(self._desk.pool, case.reference, run, self._request.timeout_s)

    def _num_sms(self) -> int:
        facts = self._desk.gpu.facts if self._desk.gpu else None
        return facts.num_sms if facts else INTERPRETER_SMS

    async def _ran(self, cut: CutReport, run: Run) -> Ran:
        gpu, job = self._desk.gpu, self._job.compile_job
        if gpu is None:
            return await self._interpreted(cut, run)
        if self._job.infers:
            job = specialized_job(job, run.inferred)
        ran, self._compilation, ms = await run_on_gpu(gpu, self._job, self._request, job, run)
        self.compile_ms += ms
        return ran

    async def _interpreted(self, cut: CutReport, run: Run) -> Ran:
        trace = self._request.trace
        asked = {
            "options": self._job.compile_job.options,
            "checks": list(self._request.checks),
            "trace": trace.model_dump(mode="json") if trace else None,
        }
        return await interpret(self._desk.pool, cut, run, asked, self._request.timeout_s)

    async def _judged(
        self, result: CaseResult, case: Case, run: Run, ran: Ran, expected: Expected | None
    ) -> CaseResult:
        outputs: dict[str, Output] = {}
        if ran.outputs:
            compared = await compare(
                self._desk.pool, run, ran, expected, case.reference, dict(self._request.return_)
            )
            outputs = await self._kept(case, *compared)
        matches = [item.comparison.matches for item in outputs.values() if item.comparison]
        if ran.timed_outputs:
            timed = replace(ran, outputs=ran.timed_outputs)
            again, _ = await compare(self._desk.pool, run, timed, expected, case.reference, {})
            matches += [item.comparison.matches for item in again.values() if item.comparison]
        if ran.trace is not None:
            self._outputs["trace"] = await self._desk.blobs.put(ran.trace)
        findings = list(ran.findings)
        if expected is not None and expected.failure is not None:
            findings.append(expected.failure)
        evidence = Evidence(
            reference_failed=expected is not None and expected.failure is not None,
            fits=ran.fits,
            findings=frozenset(finding.kind for finding in ran.findings),
            timed_out=ran.timed_out,
            out_of_memory=ran.out_of_memory,
            crashed=ran.crashed,
            matches=tuple(matches),
            inputs_modified=ran.inputs_modified,
            deterministic=ran.deterministic,
            checks=frozenset(self._request.checks),
        )
        update = {
            "verdict": verdict_of(evidence),
            "outputs": outputs,
            "deterministic": ran.deterministic,
            "timing": ran.timing,
            "findings": findings,
        }
        return result.model_copy(update=update)

    async def _kept(
        self, case: Case, outputs: dict[str, Output], files: dict[str, bytes]
    ) -> dict[str, Output]:
        names: Sequence[str] = list(files)
        digests = await self._desk.blobs.put_many([files[name] for name in names])
        kept = dict(outputs)
        for name, digest in zip(names, digests, strict=True):
            self._outputs[f"{case.index}/{name}"] = digest
            url = f"{launch_url(self._job.id)}/outputs/{name}"
            if self._request.cases:
                url += f"?case={case.index}"
            kept[name] = kept[name].model_copy(update={"url": url})
        return kept


async def _nothing() -> None:
    return None
