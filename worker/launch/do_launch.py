"""One claimed launch job, to its record.

Runs in the worker parent. Each step that a user's code can touch happens in a child; this
only moves what they report from one to the next, and judges.

A kernel with an autotuner needs more than one run, even on the CPU device, which does not tune: on
a GPU, Triton's autotuner runs each configuration on the caller's own tensors, and may choose any of
them. So `TunedLaunch` runs a launch that passed once more on the memory that it left, and then
other configurations of its kernel.
"""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from compiler.autotune import AutotuneReading, TunedConfig
from compiler.compilation import amended
from compiler.constexpr import Value, canonical_value
from compiler.diagnostic import USER_FILE
from compiler.job import CompileJob
from compiler.messages.autotuning import PRUNING_HOOKS, AutotuneOrder
from compiler.parameter_binding import BindingFailed
from compiler.problem import Problem, failure_problem
from compiler.rejection import RequestRejected
from compiler.request.resolution import specialized_job
from compiler.slug import STATIC_ASSERT
from compiler.specialization import Specialization, SpecializedParameter
from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import TUNING_SIDE_EFFECT, Finding, TuningOrder
from launch.request.case import Case
from launch.request.launch_job import LaunchJob, new_launch
from launch.request.launch_record import CaseResult, Device, Launch, with_cases, with_run
from launch.request.verdict import GOOD, WRONG_CONFIGURATION, Verdict
from store.blobs import Blobs
from store.errors import CallerBytesFull, StoreUnavailable
from store.events import Events
from store.expected_outputs import ExpectedOutputs
from store.jobs.types import Claim
from store.launches import LIFE_S, Launches
from store.workers import Workers
from worker.bytes_in_flight import BytesInFlight
from worker.compile.autotune_reading import as_reading, read_autotune_report
from worker.compile.child_task import TimeLimit
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.compile.progress import CompilationFailed, Progress
from worker.consumer import Attempt
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.case_events import CaseEvents
from worker.launch.cases.case_order import run_cases
from worker.launch.cases.cases import Cases
from worker.launch.cpu_device import WARNING
from worker.launch.fuzz.case_runner import plain_launch
from worker.launch.fuzz.fuzzing import Fuzzing
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.kernel_ir import KernelIr
from worker.launch.kernel_source import KernelSource, facts_of, problem_of
from worker.launch.launch_children import Children, ChildSlot
from worker.launch.launch_files import LaunchFiles
from worker.launch.reference import References
from worker.launch.reference_cache import ReferenceCache
from worker.launch.run_binding import select
from worker.launch.stored_references import StoredReferences

MAX_CONFIGURATIONS = 8
"""Configurations with other constants that run in addition to the launch's."""
_MAX_S = 60.0
_MAX_SHOWN_CHARS = 200
_HOOKS = frozenset({"pre_hook", "post_hook"})
_REFUSED = frozenset({"compile_error", "lowering_failed"})
"""Slugs of failures that Triton's autotuner does not survive."""
_OF_THE_DEVICE = frozenset({Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY, Verdict.INVALID_REFERENCE})
"""Verdicts that do not show that a configuration is wrong."""
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


def may_be_tuned(job: LaunchJob) -> bool:
    """Return False if the kernel of `job` has no autotuner for certain."""
    kernel = job.compile_job
    return kernel.source is not None and any("autotune" in text for text in kernel.texts.values())


@dataclass(frozen=True, slots=True)
class TunedLaunch:
    """A launch, whose `cases` run its kernel as it was posted."""

    job: LaunchJob
    context: CaseContext
    cases: Cases
    deadline: Deadline

    async def follow(self, first: Case, result: CaseResult) -> CaseResult:
        """Return the `result` of the first case with the findings of tuning."""
        if result.verdict not in GOOD:
            return result
        time = Deadline(min(_MAX_S, self.deadline.left_s / 2))
        try:
            reading = await self._read(time)
            if len(reading.configs) < 2:
                return result
            result = _with(result, await self._side_effect(first, reading))
            if result.verdict is Verdict.PASSED:
                result = await self._with_configurations(first, result, reading, time)
        except (BindingFailed, RequestRejected, CompilationFailed, DeadlinePassed) as error:
            message = f"What the kernel's autotuner does was not tried: {error}"
            return _with(result, Finding(kind=WARNING, message=message))
        return result

    async def _read(self, time: Deadline) -> AutotuneReading:
        job = self.job.compile_job
        order = AutotuneOrder(
            kernel=self.cases.kernel,
            module=job.module,
            files=job.files,
            absent=job.absent,
            target=job.target,
        )
        limit = TimeLimit(time.limit_s(job.timeout_s))
        async with self.context.child_slot():
            tasks = self.context.compiling.tasks_of(job, Progress(), limit)
            report = await tasks.run(order, (job.source or "").encode(), read_autotune_report)
        return as_reading(report, job.target_name)

    async def _side_effect(self, first: Case, reading: AutotuneReading) -> Finding | None:
        """Run the launch twice on the same memory; hooks of the user are not known here."""
        if _HOOKS & set(reading.hooks) or any(config.sets_aside for config in reading.configs):
            return None
        known = facts_of((await self.cases.source()).reading)
        order = TuningOrder(
            kernel=reading.kernel,
            file=None if known is None else USER_FILE,
            line=None if known is None else reading.line,
            configurations=len(reading.configs),
            reset_to_zero=reading.reset_to_zero,
            restore_value=reading.restore_value,
        )
        ran = await self.cases.run_tuned(first, order)
        return next(
            (finding for finding in ran.findings if finding.kind == TUNING_SIDE_EFFECT), None
        )

    async def _with_configurations(
        self, first: Case, result: CaseResult, reading: AutotuneReading, time: Deadline
    ) -> CaseResult:
        """Return the result with the error of the first wrong configuration."""
        if reading.heuristics or set(PRUNING_HOOKS) & set(reading.hooks):
            return result
        async for config, tried in self._tried(first, reading, time):
            findings = _wrong(tried, f"{_text(config)} of {reading.kernel}")
            if not findings:
                continue
            if not first.grid.names & config.values.keys():
                message = (
                    f"With {_text(config)}, the launch's grid does not give the same result, and "
                    "Triton's autotuner may choose that configuration. If the grid depends on it, "
                    "write the grid as an expression of its constants; else correct the kernel."
                )
                return _with(result, Finding(kind=WARNING, message=message))
            verdict = tried.verdict or Verdict.MISMATCH
            return amended(result, verdict=verdict, findings=[*result.findings, *findings])
        return result

    async def _tried(
        self, first: Case, reading: AutotuneReading, time: Deadline
    ) -> AsyncIterator[tuple[TunedConfig, CaseResult]]:
        """Yield configurations whose constants differ from those that ran, with their results."""
        kernel = await self.cases.source()
        constexprs = {item.name for item in kernel.facts.parameters if item.constexpr}
        ran = [(await self.cases.bound(first)).constexprs]
        for config in reading.configs:
            if config.unsaid or config.sets_aside or not config.values.keys() <= constexprs:
                continue
            values = {name: canonical_value(value, "") for name, value in config.values.items()}
            if any(_includes(before, values) for before in ran):
                continue
            if len(ran) > MAX_CONFIGURATIONS or time.left_s <= 0:
                return
            ran.append(values)
            yield config, await self._run(first, values, time)

    async def _run(self, first: Case, values: dict[str, Value], time: Deadline) -> CaseResult:
        names = [item.name for item in (await self.cases.source()).facts.parameters]
        plain = plain_launch(self.job, list(first.bound.outputs))
        plain = amended(plain, compile_job=_with_constants(self.job.compile_job, names, values))
        files = LaunchFiles(self.job.id, self.context.blobs, has_cases=True)
        cases = Cases(plain, self.context, time, files, plain=True)
        kept = first.bound.arguments.keys() - values.keys()
        try:
            return await cases.run(amended(first, index=0, bound=select(first.bound, kept)))
        finally:
            cases.close()


def _with(result: CaseResult, finding: Finding | None) -> CaseResult:
    """Return the result with one more finding, or as it is for None."""
    if finding is None:
        return result
    verdict = Verdict.MISMATCH if finding.kind == TUNING_SIDE_EFFECT else result.verdict
    return amended(result, verdict=verdict, findings=[*result.findings, finding])


def _wrong(tried: CaseResult, words: str) -> list[Finding]:
    """Return what is wrong with a configuration, as findings; `words` name it."""
    problem = tried.problem
    if problem is not None:
        if problem.slug not in _REFUSED or problem.reason == STATIC_ASSERT:
            return []
        message = (
            f"With {words}, the kernel does not compile, so that Triton's autotuner fails: "
            f"{problem.detail}"
        )
        return [Finding(kind=WRONG_CONFIGURATION, message=message)]
    if tried.verdict in GOOD | _OF_THE_DEVICE:
        return []
    findings = [
        replace(each, message=f"With {words}: {each.message}")
        for each in tried.findings
        if each.kind != WARNING
    ]
    if tried.verdict is not Verdict.MISMATCH:
        return findings
    message = (
        f"With {words}, the outputs do not match the reference, and with the launch's constants "
        "they do. On a GPU, the autotuner may choose any configuration. Correct the kernel for "
        "this one, or remove it."
    )
    return [Finding(kind=WRONG_CONFIGURATION, message=message), *findings]


def _with_constants(
    job: CompileJob, parameters: Collection[str], values: Mapping[str, Value]
) -> CompileJob:
    """Return `job` with these values of constexprs; `parameters` are the kernel's, in order."""
    specialization = job.specialization
    named = specialization.named | dict(zip(parameters, specialization.positional, strict=False))
    named |= {
        name: SpecializedParameter(value=value, is_constexpr=True) for name, value in values.items()
    }
    return specialized_job(job, Specialization(named))


def _includes(constants: Mapping[str, Value], values: Mapping[str, Value]) -> bool:
    return all(name in constants and constants[name] == value for name, value in values.items())


def _text(config: TunedConfig) -> str:
    """Return the constants of a configuration for a message."""
    words = ", ".join(f"{name}={value}" for name, value in config.values.items())
    return words if len(words) <= _MAX_SHOWN_CHARS else words[: _MAX_SHOWN_CHARS - 3] + "..."
