"""Runs fuzz cases as cases of their launch, each as a request could have written it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.compilation import amended
from compiler.rejection import RequestRejected
from jobs.deadline import Deadline
from launch.fuzz.fuzz_case import FuzzCase, words_of, written
from launch.fuzz.fuzz_plan import FuzzPlan
from launch.messages import RoundingOrder
from launch.request.argument_binding import bind_arguments
from launch.request.case import Case
from launch.request.element import is_floating
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult
from launch.request.launch_request import CaseRequest, ReturnMode
from launch.request.reference_request import Reference
from worker.launch.cases.cases import Cases
from worker.launch.comparison import tolerance_of
from worker.launch.fuzz.fuzz_outcome import Outcome, outcome_of
from worker.launch.reference import Expected, References
from worker.launch.run import PreparedRun

_PART = 1 / 8
"""The shift of inputs, as part of the tolerance, that shows sensitivity to rounding."""
_MAX_COUNT = 2.0**-8
MAX_CALLS = 7
"""The most calls of the reference for one case; each may take the full time limit."""


@dataclass(slots=True)
class WideReferences:
    """Answers one case after the other. The creator of `references` closes them.

    Not `wide`: the reference gets what the kernel gets, as ever. `only_copies` and
    `is_not_finite` are of the next case; `scales` are how large the outputs of the launch are.
    """

    references: References
    seed: int
    wide: bool = True
    only_copies: bool = False
    is_not_finite: bool = False
    scales: Mapping[str, float] = field(default_factory=dict)
    last_scales: Mapping[str, float] = field(default_factory=dict)
    """The typical size of each output's elements in the last case."""

    async def expect(
        self,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        *,
        keep: bool = True,  # noqa: ARG002 - answers of fuzz cases are never reused
    ) -> Expected:
        """Return what the source of `reference` answers. Raises DeadlinePassed."""
        doubt = self._doubt(reference, run)
        limit_s = MAX_CALLS * timeout_s
        expected = await self.references.expect(reference, run, limit_s, deadline, doubt)
        self.last_scales = expected.scales
        factors = {
            name: max(1.0, scale / known)
            for name, scale in expected.scales.items()
            if (known := self.scales.get(name, 0.0)) > 0
        }
        return replace(expected, atol_factors=factors)

    def keep_scales(self) -> None:
        """Take the case that came last as the measure of all others."""
        self.scales = dict(self.last_scales)

    def _doubt(self, reference: Reference, run: PreparedRun) -> RoundingOrder:
        outputs = run.bound.outputs
        tolerances = {name: tolerance_of(each.dtype, reference) for name, each in outputs.items()}
        parts = [
            tolerance.rtol + (tolerance.atol / scale if (scale := self.scales.get(name)) else 0.0)
            for name, tolerance in tolerances.items()
            if is_floating(outputs[name].dtype)
        ]
        return RoundingOrder(
            seed=self.seed,
            wide=self.wide,
            relative=min(_PART * max(parts, default=0.0), _MAX_COUNT),
            tolerances=tolerances,
            only_copies=self.only_copies,
            replaces_non_finite=self.is_not_finite and not reference.equal_nan,
        )


_MAX_NAME_CHARS = 256


@dataclass(frozen=True, slots=True)
class CaseAttempt:
    """The outcome of one case; `result` is None if no request could contain the case."""

    case: FuzzCase
    outcome: Outcome
    word: str
    """A verdict, or why it was left out."""
    result: CaseResult | None = None


class CaseRunner:
    """Runs the cases of one plan, one after the other; `first` is the case that they vary."""

    def __init__(
        self, cases: Cases, references: WideReferences, first: Case, plan: FuzzPlan
    ) -> None:
        self._cases = cases
        self._references = references
        self._first = first
        self._plan = plan
        self._runs = 0

    async def run(self, case: FuzzCase) -> CaseAttempt:
        """Return what became of a case. Raises DeviceCordoned."""
        plan = self._plan
        arguments = {**plan.subject.arguments, **written(case, plan.subject, plan.links)}
        try:
            bound = bind_arguments(arguments)
        except RequestRejected:
            return CaseAttempt(case, Outcome.SKIPPED, "no valid request has such arguments")
        self._references.only_copies = case.only_copies
        self._references.is_not_finite = case.is_not_finite
        index, self._runs = self._runs, self._runs + 1
        result = await self._cases.run(amended(self._first, index=index, bound=bound))
        outcome, word = outcome_of(result)
        return CaseAttempt(case, outcome, word, result)

    def words_of(self, case: FuzzCase) -> str:
        """Return what a case changes, for people."""
        return words_of(case, self._plan.subject, self._plan.links)

    def request_of(self, case: FuzzCase, own: CaseRequest | None) -> dict[str, Any]:
        """Return a case as an item of `cases`; `own` is the item that it varies, if it is one."""
        changed: Mapping[str, Any] = written(case, self._plan.subject, self._plan.links)
        if own is not None and own.arguments is not None:
            varied = self._plan.subject.arguments
            changed = {name: varied[name] for name in _names(own.arguments)} | dict(changed)
        name = self.words_of(case)[:_MAX_NAME_CHARS]
        members: dict[str, Any] = {"name": name, "arguments": dict(changed)}
        if own is not None and own.grid is not None:
            members["grid"] = own.grid
        if own is not None and own.reference is not None:
            members["reference"] = own.reference.model_dump(mode="json", exclude_unset=True)
        return members


def _names(arguments: Any) -> list[str]:
    if isinstance(arguments, list):
        return [f"arg{place}" for place in range(len(arguments))]
    return list(arguments)


def plain_launch(job: LaunchJob, outputs: list[str]) -> LaunchJob:
    """Return a launch that runs its kernel and compares it, and does nothing besides."""
    nothing: dict[str, ReturnMode] = dict.fromkeys(outputs, "none")
    return amended(
        job,
        has_cases=False,
        checks=[],
        fuzz=None,
        timing=None,
        profile=False,
        trace=None,
        stop_after_failures=None,
        returned=nothing,
    )
