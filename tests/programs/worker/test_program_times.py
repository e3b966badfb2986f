"""Entries, coverage and speedup from a launcher's times of a program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from statistics import median
from typing import Any

import pytest

from programs.tape.schema import LaunchVariant, Tape, TapeLaunch
from programs.worker.gpu.program_times import ProgramTimes, speedup_of, times_of
from tests.programs.unit.tape_maker import TapeMaker, t
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.statistics import summarise


def tape_of_a_launch_and_an_op() -> Tape:
    maker = TapeMaker()
    x, x2 = maker.tensor(), maker.tensor()
    out = maker.empty()
    maker.launch(x, out)
    y = maker.op("mul.Scalar", t(out), 2.0)
    maker.phase = "run2"
    y2 = maker.op("mul.Scalar", t(x2), 2.0)
    return maker.tape([x], [y], [x2], [y2])


def reported(median_us: float, **more: Any) -> dict[str, Any]:
    timing = summarise([median_us] * 50).to_dict() | {"clock_mhz": 1980, "throttled": []}
    return {"timing": timing, "method": "graph", "entries": None, "timing_note": None} | more


def times(median_us: float, **more: Any) -> ProgramTimes:
    found = times_of(tape_of_a_launch_and_an_op(), reported(median_us, **more))
    assert found is not None
    return found


def test_entries_are_named_and_the_longest_comes_first() -> None:
    found = times(40.0, entries=[{"op": 1, "us": 10.0}, {"op": 2, "us": 30.0}])

    assert [(one.name, one.line, one.us, one.share) for one in found.entries] == [
        ("aten.mul.Scalar", 13, 30.0, 0.75),
        ("copy_kernel", 12, 10.0, 0.25),
    ]
    assert [one.is_kernel for one in found.entries] == [False, True]
    assert found.coverage == 0.25
    assert found.timing.method == "graph"
    assert not found.warnings


def test_an_autotuned_launch_says_which_configuration_ran() -> None:
    tape = tape_of_a_launch_and_an_op()
    launch = tape.ops[1]
    assert isinstance(launch, TapeLaunch)
    variant = LaunchVariant(launch.grid, {}, {})
    tuned = replace(launch, variants=(variant, variant, variant))
    tape = replace(tape, ops=(tape.ops[0], tuned, *tape.ops[2:]))
    entries = [{"op": 1, "us": 10.0}, {"op": 2, "us": 30.0}]

    found = times_of(tape, reported(40.0, entries=entries, variants={"1": 2}))

    assert found is not None
    assert [one.configuration for one in found.entries] == [None, 2]


def test_ops_that_do_not_sum_to_the_whole_are_warned_of() -> None:
    found = times(40.0, entries=[{"op": 1, "us": 10.0}, {"op": 2, "us": 20.0}])

    assert found.warnings == [
        "The ops' times add up to 30.0 us, but the whole call takes 40.0 us, so shares and "
        "coverage are rough."
    ]


def test_a_call_whose_ops_were_not_timed_has_no_coverage() -> None:
    found = times(40.0, timing_note="Its 9,000 ops were not timed one by one: 4,096 at most are.")

    assert found.coverage is None
    assert not found.entries
    assert found.warnings == ["Its 9,000 ops were not timed one by one: 4,096 at most are."]


def test_a_program_that_was_not_timed_has_no_times() -> None:
    assert times_of(tape_of_a_launch_and_an_op(), {"timing": None}) is None


@pytest.mark.parametrize(
    "nonsense",
    [
        {"entries": [{"op": 99, "us": 1.0}]},
        {"entries": [{"op": -1, "us": 1.0}]},
        {"entries": [{"op": 1, "us": math.nan}]},
        {"entries": [{"op": 1, "us": -1.0}]},
        {"entries": [{"op": 1}]},
        {"entries": {"op": 1}},
        {"method": "guess"},
        {"timing": {"median_us": 1.0}},
    ],
)
def test_members_that_no_launcher_sends_are_refused(nonsense: Mapping[str, Any]) -> None:
    with pytest.raises(JobFailed, match="cannot be read"):
        times_of(tape_of_a_launch_and_an_op(), reported(40.0) | dict(nonsense))


def test_a_speedup_is_the_ratio_of_medians() -> None:
    found = speedup_of(candidate=times(50.0), reference=times(100.0))

    assert found is not None
    assert found.ratio == 2.0
    low, high = found.interval
    assert 1.8 < low < 2.0 < high < 2.2
    assert not found.warnings


def test_the_speedup_of_a_program_beside_itself_has_one_in_its_interval_in_19_of_20_tries() -> None:
    chance, within, tries = Random(7), 0, 400
    for _ in range(tries):
        one, other = (sample(chance) for _ in range(2))
        found = speedup_of(one, other)
        assert found is not None
        within += found.interval[0] <= 1.0 <= found.interval[1]

    assert within >= 0.95 * tries


def sample(chance: Random) -> ProgramTimes:
    """Return times of one program: medians of runs that differ within their intervals."""
    centre = 100.0 * (1 + chance.gauss(0, 0.035 / 1.96 / math.sqrt(2)))
    drawn = [chance.gauss(centre, 2.0) for _ in range(40)]
    assert median(drawn) > 0
    found = times_of(
        tape_of_a_launch_and_an_op(), reported(1.0) | {"timing": summarise(drawn).to_dict()}
    )
    assert found is not None
    return found


def test_times_below_a_microsecond_have_a_finite_interval() -> None:
    found = speedup_of(candidate=times(0.5), reference=times(0.5))

    assert found is not None
    assert all(map(math.isfinite, found.interval))


def test_times_taken_in_two_ways_are_warned_of() -> None:
    found = speedup_of(candidate=times(50.0), reference=times(100.0, method="events"))

    assert found is not None
    assert found.warnings == [
        "The program was timed as a CUDA graph, its reference as a call op by op: the speedup "
        "contains the host's time of one of them."
    ]


def test_noisy_times_are_warned_of() -> None:
    noisy = reported(50.0)
    noisy["timing"]["noisy"] = True
    candidate = times_of(tape_of_a_launch_and_an_op(), noisy)
    assert candidate is not None

    found = speedup_of(candidate, times(100.0))

    assert found is not None
    assert found.warnings == ["The times of the program are noisy: see speedup_interval."]


def test_no_time_is_no_speedup() -> None:
    assert speedup_of(times(0.0), times(100.0)) is None
