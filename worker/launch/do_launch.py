"""One claimed launch job, to its record.

Runs in the worker parent. Each step that a user's code can touch happens in a child; this
only moves what they report from one to the next, and judges.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel

from compiler.compilation import amended
from compiler.problem import Problem, failure_problem
from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import Finding
from launch.request.case import Case
from launch.request.launch_job import LaunchJob, new_launch
from launch.request.launch_record import CaseResult, Device, Launch, with_cases, with_run
from store.blobs import Blobs
from store.errors import CallerBytesFull, StoreUnavailable
from store.events import Events
from store.expected_outputs import ExpectedOutputs
from store.jobs.types import Claim
from store.launches import LIFE_S, Launches
from store.workers import Workers
from worker.bytes_in_flight import BytesInFlight
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.compile.progress import CompilationFailed
from worker.consumer import Attempt
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.case_events import CaseEvents
from worker.launch.cases.case_order import run_cases
from worker.launch.cases.cases import Cases
from worker.launch.fuzz.fuzzing import Fuzzing
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.kernel_ir import KernelIr
from worker.launch.kernel_source import KernelSource, problem_of
from worker.launch.launch_children import Children, ChildSlot
from worker.launch.launch_files import LaunchFiles
from worker.launch.reference import References
from worker.launch.reference_cache import ReferenceCache
from worker.launch.stored_references import StoredReferences
from worker.launch.tuned_launch import TunedLaunch, may_be_tuned

AT_ONCE_ON_GPU = 8
"""Cases of a launch that are prepared, run and compared at the same time."""

logger = logging.getLogger(__name__)
_NOT_PROVED = "not_proved"
_WORST_FIRST = ("refuted", "possible", "unknown")


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """The shared objects that launches work with."""

    launches: Launches
    events: Events
    blobs: Blobs
    compiling: CompileContext
    children: Children
    """The children of launches; those of compilations are in `compiling`."""
    registry: Workers
    expected: ExpectedOutputs
    """The cache of reference outputs."""
    gpu: GpuContext | None = None
    """The GPU; None: the CPU device."""
    known_sources: LRUCache[KernelSource] | None = None
    known_irs: LRUCache[KernelIr] | None = None
    """Facts about kernels that earlier launches of this worker found."""
    remembered: ReferenceCache | None = None
    """The same for expected outputs: in front of `expected`."""
    child_slots: Callable[[LaunchJob], ChildSlot] | None = None
    """Slots for a launch's children; None: the slots of jobs bound them."""
    in_flight: BytesInFlight | None = None
    prove: Callable[[LaunchJob, Deadline], Awaitable[BaseModel]] | None = None
    """Proves a launch's kernel; None: no feature does."""


async def do_launch(attempt: Attempt[LaunchJob], context: LaunchContext) -> None:
    """Do a launch and finish it.

    Raises StoreUnavailable, and DeviceCordoned when another worker's GPU must do it.
    """
    run = _LaunchRun(attempt, context)
    started = time.monotonic()
    launch = await run.launch()
    run_ms = (time.monotonic() - started) * 1000
    timings_ms = {
        "queue": attempt.queue_ms,
        "compile": run.compile_ms,
        "run": run_ms - run.compile_ms,
        "total": attempt.queue_ms + run_ms,
    }
    launch = amended(launch, timings_ms={k: round(v, 3) for k, v in timings_ms.items()})
    for phase, ms in timings_ms.items():
        attempt.metrics.launch_phase.labels(phase).observe(ms / 1000)
    # reusable: a late retry with the same idempotency key gets this result
    await attempt.finish(launch, reusable=True, keep_s=LIFE_S)
    await _keep(run, attempt.claim)


async def _report_nothing(_: CaseResult) -> None:
    """Send no event: a launch without `cases` ends with its only case."""


async def _keep(run: "_LaunchRun", claim: Claim) -> None:
    """Cache the kernels for other jobs. Losing them costs time, so a failure is only logged."""
    await run.kept.write()
    try:
        await run.cases.keep()
    except StoreUnavailable as error:
        logger.warning("cannot cache the kernels compiled for launch %s: %s", claim.id, error)


class _LaunchRun:
    """One launch, from job to record. Its deadline counts from its submission."""

    def __init__(self, attempt: Attempt[LaunchJob], context: LaunchContext) -> None:
        job = attempt.job
        self._claim = attempt.claim
        self._job = job
        self._context = context
        self._deadline = Deadline(job.deadline_s, attempt.queue_ms / 1000)
        self._files = LaunchFiles(job.id, context.blobs, has_cases=job.has_cases)
        kept = self.kept = StoredReferences(context.expected, job.caller, context.remembered)
        child_slot = context.child_slots(job) if context.child_slots else nullcontext
        yield_slot = context.gpu.yield_slot if context.gpu is not None else nullcontext
        self._references = References(
            context.children, context.registry, kept, child_slot, yield_slot
        )
        case_context = CaseContext(
            context.compiling,
            context.children,
            context.blobs,
            self._references,
            context.gpu,
            context.known_sources,
            context.known_irs,
            child_slot,
            context.in_flight,
        )
        self.cases = Cases(job, case_context, self._deadline, self._files)
        self._tuned: TunedLaunch | None = None
        if context.gpu is None and job.tries_tuning and may_be_tuned(job):
            self._tuned = TunedLaunch(job, case_context, self.cases, self._deadline)
        self._fuzzing: Fuzzing | None = None
        if job.fuzz is not None:
            self._fuzzing = Fuzzing(job, job.fuzz, case_context, self._references, self._deadline)

    @property
    def compile_ms(self) -> float:
        """The compile time."""
        fuzzing_ms = self._fuzzing.compile_ms if self._fuzzing is not None else 0.0
        return self.cases.compile_ms + fuzzing_ms

    async def launch(self) -> Launch:
        try:
            await self.cases.prepare()
        except CompilationFailed as failure:
            return self._failed(problem_of(failure))
        except DeadlinePassed as passed:
            return self._failed(failure_problem("deadline_exceeded", str(passed)))
        try:
            results = await self._results()
        finally:
            self._references.close()
            self.cases.close()
        is_first = self._claim.attempt <= 1
        await self._files.save_digests(self._context.launches, is_first=is_first)
        proof = await self._proof()
        launch = self._on_device(
            amended(new_launch(self._job, "completed"), stdout=self._files.stdout, proof=proof)
        )
        ended = with_cases(launch, results) if self._job.has_cases else with_run(launch, results[0])
        unproved = None if proof is None else _not_proved(proof)
        if unproved is None:
            return ended
        return amended(ended, findings=[*(ended.findings or []), unproved])

    async def _proof(self) -> dict[str, Any] | None:
        """Return the proof of the kernel, if the launch asks for one."""
        if not self._job.proves or self._context.prove is None:
            return None
        try:
            proof = await self._context.prove(self._job, self._deadline)
        except (DeadlinePassed, CallerBytesFull) as error:
            return {"state": "failed", "reason": str(error)}
        document: dict[str, Any] = proof.model_dump(mode="json")
        return document

    def _failed(self, problem: Problem) -> Launch:
        return new_launch(self._job, "failed", problem=problem)

    async def _results(self) -> list[CaseResult]:
        async with CaseEvents(self._context.events, self._claim) as news:
            return await run_cases(
                self._job.cases,
                self._result,
                news.send if self._job.has_cases else _report_nothing,
                gather_limited=AT_ONCE_ON_GPU if self._context.gpu is not None else 1,
                stop_after=self._job.stop_after_failures,
            )

    async def _result(self, case: Case) -> CaseResult:
        is_first = case.index == 0
        return await self.cases.run(case, partial(self._follow, case) if is_first else None)

    async def _follow(self, first: Case, result: CaseResult) -> CaseResult:
        """Return the result of the first case with the findings of further runs."""
        if self._tuned is not None:
            result = await self._tuned.follow(first, result)
        return result if self._fuzzing is None else await self._fuzzing.fuzz(first, result)

    def _on_device(self, launch: Launch) -> Launch:
        """Return `launch` with its kernel, compilation (on the CPU one that failed), and GPU."""
        launch = amended(launch, kernel=self.cases.kernel)
        compilation = None if self._job.has_cases else self.cases.compilation
        facts = self._context.gpu.facts if self._context.gpu else None
        if facts is None:
            return amended(launch, compilation=compilation)
        device = Device(
            target=facts.target, model=facts.model, driver=facts.driver, interpreter=False
        )
        return amended(launch, device=device, compilation=compilation)


def _not_proved(proof: Mapping[str, Any]) -> Finding | None:
    """Return the finding of a `proof`, as the launch answers it, at its worst access.

    None if the proof holds.
    """
    verdict = proof.get("verdict")
    if verdict == "proved":
        return None
    message = f"The proof that `checks` asks for is {verdict or 'missing'}, not proved"
    worst = min(
        _unproved_answers(proof), key=lambda answer: _WORST_FIRST.index(answer[0]), default=None
    )
    if worst is None:
        reason = proof.get("reason") or (proof.get("problem") or {}).get("detail")
        return Finding(
            kind=_NOT_PROVED, message=f"{message}: {reason}" if reason else f"{message}."
        )
    _, question, answer, access = worst
    why = f": {answer['reason']}" if answer.get("reason") else "."
    return Finding(
        kind=_NOT_PROVED,
        argument=access.get("argument"),
        file=access.get("file"),
        line=access.get("line"),
        column=access.get("column"),
        message=f"{message}. The {question} of this {access.get('kind')}: {answer['verdict']}{why}",
    )


def _unproved_answers(
    proof: Mapping[str, Any],
) -> Iterator[tuple[str, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield verdict, question, answer and access where the verdict is not `proved`."""
    for access in proof.get("accesses") or ():
        for question in ("bounds", "overflow", "race"):
            answer = access.get(question)
            if answer is not None and answer["verdict"] in _WORST_FIRST:
                yield answer["verdict"], question, answer, access
