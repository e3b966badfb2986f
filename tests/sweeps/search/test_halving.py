"""Successive halving: the variants that advance, their iterations, and reasons for the others."""

from sweeps.search.measurement import MeasuredTime
from sweeps.search.size_search import MAX_ITERATIONS, final_cut, next_round
from tests.sweeps.search.made_up import FakeGpu, searched, variants


def time(median, span=0.1, *, repeats=100, noisy=False):
    return MeasuredTime(median, median - span, median + span, repeats, noisy)


def cut(times, keep=0.5, finalists=2, is_last=False):
    return next_round(dict(enumerate(times)), keep, finalists, "round 1", is_last=is_last)


def test_the_faster_half_goes_on_in_the_order_of_its_times():
    found = cut([time(40), time(10), time(30), time(20), time(60), time(50)])

    assert found.kept == (1, 3, 2)
    assert sorted(found.dropped) == [0, 4, 5]


def test_a_dropped_variant_reports_both_times():
    found = cut([time(10), time(20), time(30), time(40)])

    assert found.dropped[3].reason == "slower"
    assert found.dropped[3].detail == (
        "round 1: 40 µs (39.9 to 40.1), where the slowest of the 2 that went on takes "
        "20 µs (19.9 to 20.1)"
    )


def test_a_noisy_time_that_reaches_the_boundary_is_taken_again():
    found = cut([time(10), time(20), time(21, 5, noisy=True), time(40)])

    assert found.kept == (0, 1, 2)


def test_a_noisy_time_far_behind_is_dropped():
    assert cut([time(10), time(20), time(90, 5, noisy=True)]).kept == (0, 1)


def test_an_overlap_that_more_repeats_would_not_resolve_is_dropped_and_says_so():
    found = cut([time(10), time(20), time(20.1), time(21, 5, repeats=MAX_ITERATIONS, noisy=True)])

    assert found.kept == (0, 1)
    for index in (2, 3):
        assert (
            "may be equally fast; more repeats would not separate them"
            in found.dropped[index].detail
        )


def test_no_round_keeps_fewer_than_the_finalists_or_all():
    assert len(cut([time(10 * k) for k in range(1, 10)], keep=0.1, finalists=8).kept) == 8
    assert len(cut([time(10 * k) for k in range(1, 10)], keep=0.9, finalists=8).kept) == 8


def test_equal_times_go_by_the_index():
    assert cut([time(10)] * 4).kept == (0, 1)


def test_finalists_are_the_fastest_and_who_may_be_as_fast_as_the_first():
    times = dict(enumerate([time(10, 1), time(10.5, 1), time(11.5, 1), time(13, 1)]))

    assert final_cut(times, 1, "round 3").kept == (0, 1)
    assert final_cut(times, 2, "round 3").kept == (0, 1, 2)


def test_repeats_grow_as_the_variants_become_fewer():
    gpu = FakeGpu({index: 10 + index for index in range(64)})
    searched(variants(64), gpu, finalists=4, repeats=20)
    repeats = {run.stage: run.repeats for run in gpu.ran}
    counts = {stage: sum(run.stage == stage for run in gpu.ran) for stage in repeats}

    assert repeats["round 1"] == 20
    assert [repeats[f"round {number}"] for number in (2, 3, 4)] == [40, 80, 160]
    assert [counts[f"round {number}"] for number in (1, 2, 3, 4)] == [64, 32, 16, 8]
    assert repeats["final 1"] == repeats["final 6"] == 40


def test_an_exhaustive_search_times_all_once_and_then_the_finalists():
    gpu = FakeGpu({index: 10 + index for index in range(20)})
    searched(variants(20), gpu, kind="exhaustive", finalists=2, passes=3)

    assert sum(run.stage == "round 1" for run in gpu.ran) == 20
    assert {run.stage for run in gpu.ran} == {"round 1", "final 1", "final 2", "final 3"}


def test_slow_kernels_are_asked_for_as_many_repeats_as_there_is_time_for():
    gpu = FakeGpu({index: 5000.0 + index for index in range(16)})
    searched(variants(16), gpu, finalists=2, max_ms=100, repeats=100)
    later = [run for run in gpu.ran if run.stage != "round 1"]

    assert all(3 <= run.repeats <= run.max_ms / 5 for run in later)


def test_a_search_among_equally_noisy_variants_ends():
    gpu = FakeGpu(dict.fromkeys(range(40), 20_000.0), noise=0.01, noisy=set(range(40)))
    found = searched(variants(40), gpu, finalists=3, keep=0.9)

    assert found.upcoming() == []
    assert found.winners()[0].variant is None


def test_the_same_answers_bring_the_same_runs():
    first, second = (FakeGpu({k: 30 + k % 7 for k in range(40)}, noise=0.02) for _ in range(2))
    searched(variants(40), first)
    searched(variants(40), second)

    assert first.ran == second.ran
