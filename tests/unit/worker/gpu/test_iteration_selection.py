"""Timed iterations that the worker compares with the reference."""

from collections import Counter
from random import Random

from worker.gpu.timing_integrity.iteration_selection import DRAWN, FARTHEST, IterationSelection
from worker.gpu.timing_integrity.timed_iteration import TimedIteration


def chosen_of(repeats: list[TimedIteration], seed: int = 0) -> list[int]:
    selection = IterationSelection(Random(seed))
    for repeat in repeats:
        selection.offer(repeat)
    return [one.repeat for one in selection.chosen.values()]


def test_of_few_runs_all_are_chosen():
    assert chosen_of([TimedIteration(at) for at in range(3)]) == [0, 1, 2]


def test_equal_runs_are_drawn_by_chance_each_as_often_as_another():
    runs = [TimedIteration(at) for at in range(10)]
    counts = Counter(at for seed in range(2000) for at in chosen_of(runs, seed))

    assert sum(counts.values()) == DRAWN * 2000
    assert all(480 < counts[at] < 720 for at in range(10))


def test_a_run_that_did_nothing_is_always_chosen_however_many_differ_a_little():
    runs = [TimedIteration(at, differing_bytes=at % 7 + 1) for at in range(200)]
    runs[13:41] = [TimedIteration(at, differing_bytes=400, left_bytes=400) for at in range(13, 41)]

    for seed in range(50):
        found = chosen_of(runs, seed)
        assert len(set(found) & set(range(13, 41))) >= FARTHEST


def test_a_run_that_repeats_the_first_ones_outputs_is_always_chosen():
    runs = [TimedIteration(at, differing_bytes=100) for at in range(50)]
    runs[30] = TimedIteration(30, equals_first=True)

    assert 30 in chosen_of(runs)


def test_runs_that_all_come_out_as_the_first_hide_none_that_does_not():
    runs = [TimedIteration(at, equals_first=True) for at in range(200)]
    runs[120] = TimedIteration(120, differing_bytes=1)

    assert all(120 in chosen_of(runs, seed) for seed in range(20))


def test_runs_that_leave_something_out_hide_none_that_repeats_the_first():
    runs = [TimedIteration(at, differing_bytes=9, left_bytes=9) for at in range(200)]
    runs[120] = TimedIteration(120, equals_first=True)

    assert all(120 in chosen_of(runs, seed) for seed in range(20))


def test_a_run_is_chosen_once():
    runs = [TimedIteration(at, differing_bytes=at + 1) for at in range(3)]

    assert sorted(chosen_of(runs)) == [0, 1, 2]


def test_what_a_place_held_before_gives_way():
    selection = IterationSelection(Random(0))
    taken = [place for at in range(100) for place in selection.offer(TimedIteration(at))]

    assert set(taken) == {0, 1, 2}
    assert len(taken) > DRAWN
