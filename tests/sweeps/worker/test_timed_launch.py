"""A search's launches equal the variant's own, except for id and timing."""

from launch.request.launch_job import LaunchJob
from sweeps.search.candidate import TimedRun
from sweeps.worker.measuring import timed_launch
from tests.unit.launch.request.queued_launches import queued

REQUEST = {
    "compilation_key": "0" * 64,
    "arguments": {"out_ptr": {"shape": [8], "dtype": "fp32", "output": True}},
    "grid": [1],
    "checks": ["racecheck"],
    "profile": True,
    "return": {"out_ptr": "tensor"},
    "timing": {"bytes": 100.0, "flush_l2": False, "samples": True, "max_ms": 5000},
    "priority": "interactive",
}
JOB = queued(REQUEST)


def launched(stage: str, index: int = 3) -> LaunchJob:
    return timed_launch("sweep", JOB, TimedRun(index, stage, 200, 50.0))


def test_a_takeover_comes_to_the_same_launch_and_another_run_to_another():
    ids = {launched(stage, index).id for stage in ("round 1", "final 1") for index in (3, 4)}

    assert len(ids) == 4
    assert launched("round 1").id in ids


def test_repeats_are_those_of_the_round_and_the_rest_that_of_the_base():
    timing = launched("round 1").timing

    assert (timing.min_repeats, timing.max_repeats, timing.max_ms) == (200, 200, 50)
    assert (timing.bytes_, timing.flush_l2, timing.samples) == (100, False, False)


def test_checks_and_profiles_are_made_once_of_finalists():
    assert launched("round 1").checks == []
    assert launched("final 1").checks == ["racecheck"]
    assert launched("final 1").profile is True
    assert launched("final 2").profile is False


def test_waiting_for_others_of_the_search_counts_against_no_deadline():
    assert launched("round 1").deadline_s == 3600


def test_no_launch_of_a_search_keeps_tensors_or_goes_before_others():
    launch = launched("final 1")

    assert (launch.returned, launch.priority) == ({}, "batch")
