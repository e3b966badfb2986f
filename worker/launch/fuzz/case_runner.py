"""Runs fuzz cases as cases of their launch, each as a request could have written it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.compilation import amended
from compiler.rejection import RequestRejected
from launch.fuzz.fuzz_case import FuzzCase, words_of, written
from launch.fuzz.fuzz_plan import FuzzPlan
from launch.request.argument_binding import bind_arguments
from launch.request.case import ARGUMENTS, Case
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import CaseResult
from launch.request.launch_request import CaseRequest, ReturnMode
from worker.launch.cases.cases import Cases
from worker.launch.fuzz.fuzz_outcome import Outcome, outcome_of
from worker.launch.fuzz.wide_reference import WideReferences

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
            bound = bind_arguments(arguments, ARGUMENTS)
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
