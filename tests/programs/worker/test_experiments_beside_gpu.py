"""A program that passed on a GPU has the flags of experiments on the CPU device."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from jobs.deadline import DeadlinePassed
from launch.request.verdict import Verdict
from programs.program_record import ProgramFlag
from programs.worker import program_case
from programs.worker.program_attempt import ProgramAttempt
from programs.worker.program_outcome import CaseOutcome, ExperimentResults
from tests.programs.unit.queued_programs import queued

pytestmark = pytest.mark.unit

FLAG = ProgramFlag(kind="torch_did_the_work", message="torch computes it")


class OnGpu:
    """Stands for an attempt on a GPU."""

    job = queued()

    def on_cpu(self, _: float) -> OnGpu:
        return self


def beside(monkeypatch: pytest.MonkeyPatch, there: CaseOutcome | Exception) -> CaseOutcome:
    async def on_cpu(*_: Any) -> CaseOutcome:
        if isinstance(there, Exception):
            raise there
        return there

    monkeypatch.setattr(program_case, "do_case", on_cpu)
    case = program_case._Case(cast("ProgramAttempt", OnGpu()))
    asyncio.run(case._experiment_beside_gpu(None))
    return case.outcome


def test_flags_of_experiments_are_adopted_and_coverage_stays_one_of_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = ExperimentResults([FLAG], 0.1)
    outcome = beside(monkeypatch, CaseOutcome(verdict=Verdict.PASSED, experiments=found))

    assert (outcome.flags, outcome.coverage_by_work, outcome.warnings) == ([FLAG], None, [])


@pytest.mark.parametrize(
    ("there", "why"),
    [
        (CaseOutcome(verdict=Verdict.OUT_OF_MEMORY), "the verdict is out_of_memory"),
        (DeadlinePassed(60.0), "it takes more than 60 s"),
    ],
)
def test_a_program_that_does_not_pass_there_has_a_warning(
    monkeypatch: pytest.MonkeyPatch, there: CaseOutcome | Exception, why: str
) -> None:
    outcome = beside(monkeypatch, there)

    assert outcome.flags == []
    [warning] = outcome.warnings
    assert why in warning
