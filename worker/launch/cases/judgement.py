"""Judges a case from its run: outputs against what was expected, findings, and the verdict.

What belongs in the order of the cases, such as what is stored of them, is done in it.
"""

from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol

from compiler.compilation import amended
from compiler.problem import Problem
from launch.messages import Cause
from launch.request.case import Case, seeds_of
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult
from launch.request.launch_request import ReturnMode
from launch.request.verdict import Evidence, Verdict, evident_kind, verdict_of
from worker.launch.cases.case_context import CaseContext
from worker.launch.cases.case_order import CaseOrder
from worker.launch.comparison import (
    Actual,
    Compared,
    PrecisionCauses,
    compare,
    not_checked,
    weak_comparison,
)
from worker.launch.gpu.profile_lines import add_lines
from worker.launch.gpu.timed_iterations import (
    JudgedRepeats,
    Seeds,
    add_iterations,
    judge_iterations,
    on_seeds,
)
from worker.launch.launch_files import LaunchFiles
from worker.launch.mismatch_explanation import explain
from worker.launch.precision_causes import causes_of
from worker.launch.reference import Expected
from worker.launch.run import PreparedRun, RunResult


class Expect(Protocol):
    """Asks what the outputs of a run should be; None without a reference."""

    def __call__(
        self, case: Case, run: PreparedRun, *, keep: bool = True
    ) -> Awaitable[Expected | None]:
        """Return it, and cache it if `keep`. Raises DeadlinePassed."""
        ...


class Judgement:
    """Judges the cases of one launch."""

    def __init__(
        self,
        job: LaunchJob,
        context: CaseContext,
        files: LaunchFiles,
        order: CaseOrder,
        expect: Expect,
    ) -> None:
        self._job = job
        self._context = context
        self._files = files
        self._order = order
        self._expect = expect
        self._causes: dict[bytes, list[Cause]] = {}
        """The causes of imprecision in each TTIR."""

    async def judge(
        self, case: Case, run: PreparedRun, result: RunResult, expected: Expected | None
    ) -> CaseResult:
        """Return the result of a case: its run compared with `expected`.

        Raises DeadlinePassed, NotCompared.
        """
        if result.problem is not None:
            return await self._not_judged(case, result, result.problem)
        await add_lines(result, result.compilation, self._context.compiling)
        compared = await self._outputs(case, run, result, expected)
        matches = compared.matches
        repeats = JudgedRepeats()
        if all(matches):
            repeats = await self._judge_iterations(case, run, result, expected)
            matches += repeats.matches
        await self._order.stored.reach(case.index)
        self._files.add_stdout(result.stdout)
        outputs = await self._files.add_outputs(case.index, compared.outputs, compared.files)
        if result.trace is not None:
            await self._files.add_trace(case.index, result.trace)
        failure = (expected.failure if expected is not None else None) or compared.unmatchable
        verdict = verdict_of(
            Evidence(
                ending=result.ending,
                findings=frozenset(
                    evident_kind(each.kind, each.access) for each in result.findings
                ),
                matches=tuple(matches),
                deterministic=result.deterministic,
                checks=frozenset(self._job.checks),
                reference_failed=failure is not None or repeats.reference_failed,
            )
        )
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
        findings = self._files.bound_findings(result.findings)
        return amended(without_verdict(case, problem, self._key_of(result)), findings=findings)

    async def _outputs(
        self, case: Case, run: PreparedRun, result: RunResult, expected: Expected | None
    ) -> Compared:
        """Return the outputs, their files, and which match; those of the last timed run too."""
        if not result.outputs:
            return Compared({}, {}, {})
        await self._order.returned.reach(case.index)
        returned = self._files.choose_returned(self._job.returned, run)
        self._order.returned.leave(case.index)
        actual = Actual(result.outputs, result.unwritten)
        compared = await self._compare(case, run, actual, expected, returned, result)
        outputs = explain(compared.outputs, run, compared.downgrades)
        result.findings += compared.downgrades.values()
        weak = [weak_comparison(name, output.comparison) for name, output in outputs.items()]
        result.findings += [finding for finding in weak if finding is not None]
        return replace(compared, outputs=outputs)

    async def _judge_iterations(
        self, case: Case, run: PreparedRun, result: RunResult, expected: Expected | None
    ) -> JudgedRepeats:
        """Compare the timed runs that were sent, on their own inputs; add what is found of them."""

        async def expect(seeds: Seeds) -> Expected | None:
            if not seeds:
                return expected
            on_these = amended(case, bound=on_seeds(case.bound, seeds))
            run_on_these = replace(run, bound=on_seeds(run.bound, seeds))
            return await self._expect(on_these, run_on_these, keep=False)

        async def compare_on(actual: Actual, other: Expected) -> Compared:
            unasked: dict[str, ReturnMode] = dict.fromkeys(actual.outputs, "none")
            return await self._compare(case, run, actual, other, unasked)

        judged = await judge_iterations(
            result.repeats, expect, compare_on, is_changed=result.keeps_state
        )
        add_iterations(result, judged)
        return judged

    async def _compare(
        self,
        case: Case,
        run: PreparedRun,
        actual: Actual,
        expected: Expected | None,
        returned: dict[str, ReturnMode],
        result: RunResult | None = None,
    ) -> Compared:
        pool = self._context.children.kernels
        causes = PrecisionCauses()
        if result is not None and expected is not None:
            of_kernel = result.causes or await self._causes_of(result.ir)
            if of_kernel:
                of_reference = expected.causes or await self._causes_of(expected.ir)
                causes = PrecisionCauses(of_kernel, of_reference)
        return await compare(pool, run, actual, expected, case.reference, returned, causes)

    async def _causes_of(self, ir: bytes) -> list[Cause]:
        """Return why a kernel on a GPU may be imprecise; most cases of a launch share its IR."""
        if ir not in self._causes:
            self._causes[ir] = await causes_of(self._context.children.kernels, [ir])
        return self._causes[ir]

    def _key_of(self, result: RunResult) -> str | None:
        """Return the key of the kernel that ran; None for what the CPU device compiles."""
        if result.compilation is None or self._context.gpu is None:
            return None
        return result.compilation.key


def without_verdict(case: Case, problem: Problem, compilation_key: str | None = None) -> CaseResult:
    """Return the result of a case that could not be judged."""
    return CaseResult(
        index=case.index,
        name=case.name,
        compilation_key=compilation_key,
        seeds=seeds_of(case.bound),
        problem=problem,
    )
