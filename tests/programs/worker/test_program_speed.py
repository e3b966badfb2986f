"""Times of a program and of its reference in the record."""

import pytest

from launch.request.launch_record import Device
from launch.request.verdict import Verdict
from programs.program_record import EntryTime, ProgramTiming
from programs.worker.gpu.program_times import ProgramTimes
from programs.worker.program_outcome import CaseOutcome, with_cases, with_run
from tests.programs.unit.queued_programs import queued

pytestmark = pytest.mark.unit

H200 = Device(target="cuda:90", model="H200", interpreter=False)
JOB = queued(device=H200)


def times(median_us, kernels_us=0.0, entries_us=0.0, warnings=()):
    timing = ProgramTiming(
        median_us=median_us, interval_us=(0.9 * median_us, 1.1 * median_us), mean_us=median_us,
        min_us=median_us, p20_us=median_us, p80_us=median_us, std_us=0.0, repeats=20, noisy=False,
        method="graph",
    )  # fmt: skip
    entry = EntryTime(op=1, name="add_kernel", us=kernels_us, share=1.0, is_kernel=True)
    coverage = kernels_us / entries_us if entries_us else None
    return ProgramTimes(timing, [entry], coverage, warnings, entries_us, kernels_us)


def case(own, reference, verdict=Verdict.PASSED):
    return CaseOutcome(
        verdict=verdict, times=own, reference_times=reference, is_compiled=verdict is not None
    )


def test_a_program_is_so_many_times_faster_than_its_reference():
    program = with_run(JOB, case(times(10.0, 9.0, 10.0), times(40.0)))

    low, high = program.speedup_interval
    assert program.speedup == program.reward.speedup == 4.0
    assert low < 4.0 < high
    assert program.timing.median_us == 10.0
    assert program.coverage == program.reward.coverage == 0.9
    assert program.coverage_measure == "time"
    assert [entry.name for entry in program.entries] == ["add_kernel"]
    assert program.device == H200


def test_there_is_no_reward_for_how_fast_a_program_is_wrong():
    program = with_run(JOB, case(times(10.0), times(40.0), Verdict.MISMATCH))

    assert program.speedup == 4.0
    assert program.reward.speedup is None


def test_a_program_alone_has_times_and_no_speedup():
    program = with_run(JOB, case(times(10.0), None, Verdict.NOT_CHECKED))

    assert program.timing.median_us == 10.0
    assert program.speedup is None


def test_of_cases_the_speedup_is_the_geometric_mean_and_coverage_that_of_all_time():
    runs = [
        case(times(10.0, 1.0, 10.0), times(20.0)),
        case(times(90.0, 89.0, 90.0), times(720.0)),
    ]
    program = with_cases(JOB, ["small", "large"], runs)

    assert program.speedup == pytest.approx(4.0)
    assert program.coverage == pytest.approx(0.9)
    assert [one.speedup for one in program.cases] == [2.0, 8.0]
    assert [one.reference_timing.median_us for one in program.cases] == [20.0, 720.0]
    assert program.timing is None


def test_cases_of_which_one_was_not_timed_have_no_speedup_together():
    runs = [case(times(10.0), times(20.0)), case(None, None, Verdict.TIMEOUT)]

    assert with_cases(JOB, [None, None], runs).speedup is None


def test_a_program_on_the_cpu_device_has_no_times():
    job = JOB.model_copy(update={"device": None})
    program = with_run(job, case(None, None))

    assert (program.timing, program.entries, program.speedup) == (None, None, None)
