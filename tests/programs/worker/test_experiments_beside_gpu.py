"""A program that passed on a GPU has the flags of experiments on the CPU device."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from jobs.deadline import DeadlinePassed
from launch.messages import Finding
from launch.request.verdict import Verdict
from programs.program_record import EntryTime, ProgramFlag
from programs.worker import do_program
from programs.worker.experiments import flags_by_time
from programs.worker.program_attempt import ProgramAttempt
from programs.worker.program_outcome import CaseOutcome, ExperimentResults
from tests.programs.unit.queued_programs import queued
from tests.programs.unit.tape_maker import TapeMaker, t

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

    monkeypatch.setattr(do_program, "do_case", on_cpu)
    case = do_program._Case(cast("ProgramAttempt", OnGpu()))
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


def test_a_race_that_only_the_cpu_device_sees_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Finding(kind="race", message="r"), Finding(kind="mismatch", message="m")]
    outcome = beside(monkeypatch, CaseOutcome(verdict=Verdict.RACE, findings=found))

    assert [one.kind for one in outcome.findings] == ["race"]


def entry(op: int, us: float, name: str = "aten.add.Tensor") -> EntryTime:
    return EntryTime(op=op, name=name, us=us, share=0.1, is_kernel=False)


def test_torch_is_flagged_by_its_time_where_no_experiment_could_be_made() -> None:
    maker = TapeMaker()
    x = maker.op("add.Tensor", t(maker.empty()), t(0))
    tape = maker.tape([], [x])

    assert flags_by_time(tape, [entry(1, 24.0), entry(0, 60.0)], 100.0) == []
    (flag,) = flags_by_time(tape, [entry(1, 26.0), entry(0, 60.0)], 100.0)
    assert (flag.kind, flag.line) == ("torch_did_the_work", 12)
    assert "26%" in flag.message
