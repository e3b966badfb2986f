"""The record of a program with cases: common members appear once, within bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from launch.request.verdict import Verdict
from programs.program_job import program_problem
from programs.program_record import ProgramFlag
from programs.worker.program_outcome import CaseOutcome, ExperimentResults, with_cases, with_run
from programs.worker.program_recordings import ProgramTape, RecordedCase
from tests.programs.unit.queued_programs import queued
from tests.programs.unit.tape_maker import TapeMaker

pytestmark = pytest.mark.unit

JOB = queued()


def flag(line: int) -> ProgramFlag:
    return ProgramFlag(kind="dead_launch", message="no effect", file="user.py", line=line)


def test_a_flag_of_each_case_is_one_of_the_program() -> None:
    runs = [CaseOutcome(flags=[flag(1), flag(2)]), CaseOutcome(flags=[flag(2), flag(3)])]

    assert with_cases(JOB, ["a", "b"], runs).flags == [flag(1), flag(2), flag(3)]


def test_a_program_has_no_more_flags_than_one_case_may_have() -> None:
    runs = [CaseOutcome(flags=[flag(100 * case + n) for n in range(100)]) for case in range(32)]

    assert len(with_cases(JOB, [None] * 32, runs).flags) == 100


def test_a_case_that_was_not_recorded_says_nothing_of_the_kernels() -> None:
    tape = ProgramTape(TapeMaker().tape([], []), b"{}")
    recorded = RecordedCase(tape, None, None)
    unrecorded = CaseOutcome(problem=program_problem("not_recordable", "bad inputs"))
    compiled = CaseOutcome(recorded=recorded, is_compiled=True, verdict=Verdict.PASSED)
    failed = CaseOutcome(recorded=recorded, problem=program_problem("compile_error", "no"))

    program = with_cases(JOB, [None, None], [unrecorded, compiled])

    assert (program.verdict, program.tape is not None) == ("not_checked", True)
    assert program.reward is not None
    assert (program.reward.compiled, program.reward.correct) == (True, False)
    reward = with_cases(JOB, [None, None], [compiled, failed]).reward
    assert reward is not None
    assert not reward.compiled


def test_the_coverage_of_cases_is_the_mean_of_those_that_have_one() -> None:
    shares = [ExperimentResults(coverage=share) for share in (0.5, 1.0)]
    runs = [CaseOutcome(experiments=found) for found in (*shares, None)]
    program = with_cases(JOB, ["a", "b", "c"], runs)

    assert (program.coverage, program.coverage_measure) == (0.75, "work")
    assert program.cases is not None
    assert [one.coverage for one in program.cases] == [0.5, 1.0, None]


BROKEN_REFERENCE = CaseOutcome(
    problem=program_problem("syntax_error", "no", program="reference"), blames_reference=True
)
PASSED = CaseOutcome(verdict=Verdict.PASSED, is_compiled=True)


def test_a_program_without_a_sound_reference_has_no_reward() -> None:
    invalid = CaseOutcome(
        verdict=Verdict.INVALID_REFERENCE, is_compiled=True, blames_reference=True
    )

    for run in (BROKEN_REFERENCE, invalid):
        assert with_run(JOB, run).reward is None
        assert with_cases(JOB, ["a", "b"], [PASSED, run]).reward is None


def test_a_reference_that_a_kernel_may_have_broken_excuses_nothing() -> None:
    reward = with_run(JOB, CaseOutcome(verdict=Verdict.INVALID_REFERENCE, is_compiled=True)).reward

    assert reward is not None
    assert not reward.correct


@pytest.mark.parametrize(
    "candidate",
    [
        CaseOutcome(verdict=Verdict.MISMATCH, is_compiled=True),
        CaseOutcome(problem=program_problem("compile_error", "no", program="candidate")),
        replace(PASSED, flags=[ProgramFlag(kind="no_kernel", message="nothing")]),
    ],
    ids=["mismatch", "does not compile", "serious flag"],
)
def test_a_failed_reference_hides_no_fault_of_the_program_in_another_case(
    candidate: CaseOutcome,
) -> None:
    reward = with_cases(JOB, ["a", "b"], [BROKEN_REFERENCE, candidate]).reward

    assert reward is not None
    assert not reward.correct


def test_a_serious_flag_counts_whatever_the_reference_does() -> None:
    flag = ProgramFlag(kind="sandbox_attempt", message="it tried")
    reward = with_run(JOB, replace(BROKEN_REFERENCE, flags=[flag])).reward

    assert reward is not None
    assert reward.serious == ["sandbox_attempt"]


def test_a_reference_that_fails_in_a_later_trial_is_blamed() -> None:
    run = replace(PASSED)
    run.take_trial(BROKEN_REFERENCE, 1, 7)

    assert with_run(JOB, run).reward is None
