"""Tries what Triton's autotuner would do around a launch that passed on the CPU device.

Tuning runs each configuration on the caller's own tensors, and a GPU may choose any of them. So the
launch runs once more on the memory that it left, and other configurations of its kernel run too.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, replace

from compiler.autotune import AutotuneReading, TunedConfig
from compiler.compilation import amended
from compiler.constexpr import Value, canonical_value
from compiler.diagnostic import USER_FILE
from compiler.job import CompileJob
from compiler.messages.autotuning import PRUNING_HOOKS, AutotuneOrder
from compiler.parameter_binding import BindingFailed
from compiler.rejection import RequestRejected
from compiler.request.resolution import specialized_job
from compiler.slug import STATIC_ASSERT
from compiler.specialization import Specialization, SpecializedParameter
from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import TUNING_SIDE_EFFECT, Finding, TuningOrder
from launch.request.case import Case
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult
from launch.request.verdict import GOOD, WRONG_CONFIGURATION, Verdict
from worker.compile.autotune_reading import as_reading, read_autotune_report
from worker.compile.child_task import TimeLimit
from worker.compile.progress import CompilationFailed, Progress
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.cases import Cases
from worker.launch.cpu_device import WARNING
from worker.launch.fuzz.case_runner import plain_launch
from worker.launch.kernel_source import facts_of
from worker.launch.launch_files import LaunchFiles
from worker.launch.run_binding import select

MAX_CONFIGURATIONS = 8
"""Configurations with other constants that run in addition to the launch's."""
_MAX_S = 60.0
_MAX_SHOWN_CHARS = 200
_HOOKS = frozenset({"pre_hook", "post_hook"})
_REFUSED = frozenset({"compile_error", "lowering_failed"})
"""Slugs of failures that Triton's autotuner does not survive."""
_OF_THE_DEVICE = frozenset({Verdict.TIMEOUT, Verdict.OUT_OF_MEMORY, Verdict.INVALID_REFERENCE})
"""Verdicts that do not show that a configuration is wrong."""


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
        """Return the `result` of the first case with what tuning adds to it."""
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
    """Return the result with one finding more, None: as it is."""
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
