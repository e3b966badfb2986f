"""Fuzzes a launch that has passed: runs the cases of its plan until one fails, and makes it small.

The time is the launch's own; a part of it only, so that what was found is answered in any case.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

from compiler.compilation import amended
from compiler.json_number import written_number
from compiler.parameter_binding import BindingFailed
from compiler.rejection import RequestRejected
from jobs.deadline import Deadline, DeadlinePassed
from launch.fuzz.fuzz_case import FuzzCase
from launch.fuzz.fuzz_plan import FuzzPlan, plan_of
from launch.fuzz.shrinking import smaller
from launch.fuzz.subject import subject_of
from launch.messages import Finding
from launch.request.case import Case
from launch.request.launch_job import FuzzJob, LaunchJob
from launch.request.launch_record import CaseResult, Fuzzed
from launch.request.verdict import CHECK_INCOMPLETE, Verdict
from worker.compile.progress import CompilationFailed
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.cases import Cases
from worker.launch.fuzz.case_runner import CaseAttempt, CaseRunner, WideReferences, plain_launch
from worker.launch.fuzz.fuzz_outcome import REFUSED, Outcome, finding_of_case, verdict_after
from worker.launch.launch_files import LaunchFiles
from worker.launch.reference import References

_MAX_LISTED = 64
_MAX_REFUSED = 4
"""Lengths of one extent, until no other is tried if the reference took none."""


@dataclass(slots=True)
class FuzzTally:
    """The results of one plan's cases so far."""

    plan: FuzzPlan
    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    lengths: dict[int, list[int]] = field(default_factory=dict)
    patterns: dict[str, list[str]] = field(default_factory=dict)
    layouts: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[int, list[int]] = field(default_factory=dict)
    """Lengths that the reference does not take, by the extents that they were for."""
    tried: int = 0
    """Cases that were run, inconclusive ones included."""

    def add(self, tried: CaseAttempt) -> None:
        """Count a case."""
        self.tried += 1
        if tried.outcome is Outcome.SKIPPED:
            self.skipped[tried.word] += 1
        if tried.word == REFUSED and len(tried.case.extents) == 1:
            _note(self.refused, *tried.case.extents[0])
        if tried.outcome not in {Outcome.PASSED, Outcome.FAILED}:
            return
        self.cases += 1
        self.kinds.update(tried.case.kinds)
        for extent, length in tried.case.extents:
            _note(self.lengths, extent, length)
        for values in tried.case.values:
            _note(self.patterns, values.buffer, values.pattern)
        for layout in tried.case.layouts:
            _note(self.layouts, layout.kind, layout.buffer)

    def is_refused(self, case: FuzzCase) -> bool:
        """Return True if the reference is known to reject a length of this case.

        It takes no other length where it took none of some.
        """
        return any(
            length in self.refused.get(extent, ()) or self._is_kept(extent)
            for extent, length in case.extents
        )

    def _is_kept(self, extent: int) -> bool:
        refused = self.refused.get(extent, ())
        return len(refused) >= _MAX_REFUSED and not self.lengths.get(extent)

    def record(self, *, wide: bool, more: str | None = None) -> Fuzzed:
        """Return what was tried; `more` is a reason why not more was."""
        kept = [each.called for each in self.plan.extents if self._is_kept(each.extent)]
        refused = [f"{called}: the reference takes no other length" for called in kept]
        not_varied = [*self.plan.not_varied, *refused, *([more] if more else [])]
        return Fuzzed(
            seed=_written(self.plan.seed),
            cases=self.cases,
            kinds=dict(self.kinds),
            varied=self._varied(),
            not_varied=not_varied[:_MAX_LISTED],
            skipped=dict(self.skipped),
            reference="float64" if wide else "as_given",
        )

    def _varied(self) -> list[str]:
        called = {each.extent: each.called for each in self.plan.extents}
        varied = [
            f"{called[extent]}: {', '.join(map(str, sorted(lengths)))}"
            for extent, lengths in self.lengths.items()
        ]
        varied += [f"values of {name}: {', '.join(each)}" for name, each in self.patterns.items()]
        varied += [f"{kind}: {', '.join(names)}" for kind, names in self.layouts.items()]
        return varied[:_MAX_LISTED]


def _note(known: dict, key: object, value: object) -> None:  # type: ignore[type-arg]
    values = known.setdefault(key, [])
    if value not in values:
        values.append(value)


def _written(seed: int) -> int | str:
    number = written_number(seed)
    assert not isinstance(number, float)
    return number


MAX_S = 60.0
"""The time limit of fuzzing; at most half of a launch's remaining time."""
NO_TIME = "there was no time for it: give the launch a longer `deadline_s`, or fewer elements"
MAX_SHRINKING = 32
"""Cases that are run to make one smaller."""
TRIED_FOR_EACH = 3
"""Cases that are run, for each that is asked for: some are inconclusive."""


class Fuzzing:
    """Fuzzes one launch, from its first case. The creator of `references` closes them."""

    def __init__(
        self,
        job: LaunchJob,
        fuzz: FuzzJob,
        context: CaseContext,
        references: References,
        deadline: Deadline,
    ) -> None:
        self._job, self._fuzz, self._context = job, fuzz, context
        self._references = WideReferences(references, fuzz.seed)
        self._deadline = deadline
        self._time = deadline
        """The part of the deadline that is for fuzzing, when it has begun."""
        self.compile_ms = 0.0
        """The compile time of all cases together."""

    async def fuzz(self, first: Case, result: CaseResult) -> CaseResult:
        """Return the `result` of the launch's first case with the results of fuzzing.

        Raises DeviceCordoned.
        """
        if result.verdict is not Verdict.PASSED:
            return amended(result, fuzz=self._nothing("the launch itself did not pass"))
        self._time = Deadline(min(MAX_S, self._deadline.left_s / 2))
        cases = self._cases(first)
        try:
            plan = await self._plan(cases, first)
            return await self._tried(CaseRunner(cases, self._references, first, plan), plan, result)
        except (BindingFailed, RequestRejected, CompilationFailed) as error:
            return self._incomplete(result, self._nothing(str(error)), str(error))
        except DeadlinePassed:
            return self._incomplete(result, self._nothing(NO_TIME), NO_TIME)
        finally:
            self.compile_ms = cases.compile_ms
            cases.close()

    def _cases(self, first: Case) -> Cases:
        """Return what runs cases within the time for fuzzing, each reference included."""
        context = self._context
        gpu = replace(context.gpu, faults=None) if context.gpu is not None else None
        return Cases(
            plain_launch(self._job, list(first.bound.outputs)),
            replace(context, references=self._references, gpu=gpu),
            self._time,
            LaunchFiles(self._job.id, context.blobs, has_cases=True),
            plain=True,
        )

    async def _plan(self, cases: Cases, first: Case) -> FuzzPlan:
        """Return what may be varied. Raises what `Cases.bound` does."""
        run = await cases.bound(first)
        reference = first.reference
        subject = subject_of(
            self._fuzz.arguments,
            first.bound,
            run.constexprs,
            first.grid,
            frozenset(self._fuzz.asked.fixed),
            equal_nan=reference is not None and reference.equal_nan,
        )
        return plan_of(subject, self._fuzz.seed)

    async def _tried(self, runner: CaseRunner, plan: FuzzPlan, result: CaseResult) -> CaseResult:
        """Return the result with the findings of the cases of a plan."""
        tally = FuzzTally(plan)
        base = await self._measured(runner, plan)
        failed: CaseAttempt | None = base
        more: str | None = None
        if base.outcome is Outcome.PASSED:
            failed, more = await self._searched(runner, plan, tally)
        elif base.outcome is Outcome.ENDED:
            return self._incomplete(result, self._nothing(NO_TIME), NO_TIME)
        elif base.case.is_plain:
            why = f"the launch itself cannot be compared in this way: {base.word}"
            return self._incomplete(result, self._nothing(why), why)
        else:
            tally.add(base)
        record = tally.record(wide=self._references.wide, more=more)
        if failed is not None:
            smallest = await self._smallest(runner, plan, failed)
            return self._failed(runner, smallest, result, record)
        if not tally.cases and plan.varies:
            return self._incomplete(result, record, "no case could be compared")
        return amended(result, fuzz=record)

    async def _measured(self, runner: CaseRunner, plan: FuzzPlan) -> CaseAttempt:
        """Run the launch against its reference in float64, or else in what the kernel gets.

        A large one is run with fewer elements, unless the reference does not take these. What is
        returned has passed, or it has failed with either, or else it is the launch as it is.
        """
        base = await self._compared(runner, plan.measure)
        if base.outcome not in {Outcome.PASSED, Outcome.FAILED} and not base.case.is_plain:
            base = await self._compared(runner, FuzzCase())
        self._references.keep_scales()
        return base

    async def _compared(self, runner: CaseRunner, case: FuzzCase) -> CaseAttempt:
        self._references.wide = True
        tried = await runner.run(case)
        if tried.outcome in {Outcome.FAILED, Outcome.SKIPPED}:
            self._references.wide = False
            tried = await runner.run(case)
        return tried

    async def _searched(
        self, runner: CaseRunner, plan: FuzzPlan, tally: FuzzTally
    ) -> tuple[CaseAttempt | None, str | None]:
        """Return the first case that fails, and why there were not more cases, if it is time."""
        most = self._fuzz.asked.cases
        for case in plan.cases():
            if tally.cases >= most or tally.tried >= TRIED_FOR_EACH * most:
                break
            if tally.is_refused(case):
                continue
            tried = await runner.run(case)
            tally.add(tried)
            if tried.outcome is Outcome.FAILED:
                return tried, None
            if tried.outcome is Outcome.ENDED or self._time.left_s <= 0:
                return None, f"further cases: the time was up after {tally.cases}"
        return None, None

    async def _smallest(
        self, runner: CaseRunner, plan: FuzzPlan, failed: CaseAttempt
    ) -> CaseAttempt:
        """Return the smallest case found that fails as `failed` does."""
        left = MAX_SHRINKING
        while True:
            for case in smaller(failed.case, plan):
                if left <= 0 or self._time.left_s <= 0:
                    return failed
                left -= 1
                tried = await runner.run(case)
                if tried.outcome is Outcome.ENDED:
                    return failed
                if tried.word == failed.word and tried.outcome is Outcome.FAILED:
                    failed = tried
                    break
            else:
                return failed

    def _failed(
        self, runner: CaseRunner, failed: CaseAttempt, result: CaseResult, record: Fuzzed
    ) -> CaseResult:
        assert failed.result is not None
        case = runner.request_of(failed.case, self._fuzz.own)
        finding = finding_of_case(failed.result, failed.word, runner.words_of(failed.case), case)
        return amended(
            result,
            verdict=verdict_after(failed.word),
            findings=[*result.findings, finding],
            fuzz=record,
        )

    def _incomplete(self, result: CaseResult, record: Fuzzed, why: str) -> CaseResult:
        message = f"Fuzzing did not test this kernel: {why}"
        finding = Finding(kind=CHECK_INCOMPLETE, message=message)
        return amended(
            result,
            verdict=Verdict.NOT_CHECKED,
            findings=[*result.findings, finding],
            fuzz=record,
        )

    def _nothing(self, why: str) -> Fuzzed:
        return Fuzzed(seed=self._fuzz.seed, cases=0, not_varied=[f"anything: {why}"])
