"""Iterations of a timing: the requested number, then until the median is known."""

import pytest

from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.timing_plan import Plan, iterations_needed

LONG_MS = 1e6


def counts(order, sample, *, most=16, span_ms=0.5):
    """Return how many runs a plan queues, batch by batch; it times each before the next."""
    plan, queued = Plan(order), []
    plan.begin(most)
    while (count := plan.next_count()) > 0:
        warms_up = plan.is_warming_up
        plan.queue(count)
        if warms_up:
            plan.warmed_up(count, span_ms)
        else:
            start = len(plan.samples_us)
            plan.timed([sample(start + index) for index in range(count)], span_ms)
            queued.append(count)
        assert len(queued) < 10_000
    return queued


def test_equal_times_are_enough_after_the_fewest_repeats():
    assert counts(TimingOrder(min_repeats=50, max_ms=LONG_MS), lambda _: 5.0) == [16, 16, 16, 2]


def test_times_that_are_spread_take_more():
    wide = counts(TimingOrder(min_repeats=20, max_ms=LONG_MS), lambda i: 100 + 37 * i % 40)

    assert sum(wide) > 200


def test_no_more_are_taken_than_there_may_be():
    order = TimingOrder(min_repeats=20, max_repeats=50, max_ms=LONG_MS)

    assert sum(counts(order, lambda i: 100 + 37 * i % 40)) == 50
    assert sum(counts(TimingOrder(max_repeats=1, max_ms=LONG_MS), lambda _: 5.0)) == 3


def test_a_spread_within_what_events_tell_takes_no_more():
    assert (
        sum(counts(TimingOrder(min_repeats=50, max_ms=LONG_MS), lambda i: 4 + 0.1 * (i % 3))) == 50
    )


def test_three_times_are_taken_when_the_budget_is_over():
    assert sum(counts(TimingOrder(min_repeats=50, max_ms=0), lambda _: 5.0)) == 3


def test_the_first_run_can_use_up_the_share_for_warming_up(monkeypatch):
    clock = iter([0.0, *[0.2] * 9])
    monkeypatch.setattr("worker.gpu.launcher.timing_plan.time.monotonic", lambda: next(clock))
    plan = Plan(TimingOrder(warmup_repeats=10, max_ms=500))

    plan.begin(most=16)

    assert not plan.is_warming_up
    assert plan.next_count() == 3  # 300 ms are left, and an iteration took 200


def test_what_is_paused_is_not_spent(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("worker.gpu.launcher.timing_plan.time.monotonic", lambda: now[0])
    plan = Plan(TimingOrder(warmup_repeats=0, min_repeats=100, max_ms=100))
    now[0] = 0.01
    plan.begin(most=100)

    with plan.paused():
        now[0] += 10.0

    assert plan.next_count() == 9


@pytest.mark.parametrize(("have", "needed"), [([], 0), ([5.0] * 3, 9), ([5.0] * 50, 50)])
def test_how_many_are_needed(have, needed):
    assert iterations_needed(have) == needed
