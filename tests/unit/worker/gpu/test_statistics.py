"""Statistics of timings."""

import math

import numpy as np
import pytest

from worker.gpu.launcher.statistics import median_error, summarise


def test_the_summary_agrees_with_numpy():
    samples = list(np.random.default_rng(0).normal(10, 0.1, 101))

    found = summarise(samples)

    assert found.median_us == pytest.approx(np.median(samples))
    assert found.mean_us == pytest.approx(np.mean(samples))
    assert (found.p20_us, found.p80_us) == pytest.approx(np.quantile(samples, [0.2, 0.8]))
    assert found.std_us == pytest.approx(np.std(samples, ddof=1))
    assert (found.min_us, found.repeats) == (min(samples), 101)


def test_equal_samples_are_not_noisy():
    assert summarise([5.0] * 20).noisy is False
    assert summarise([5.0] * 20).std_us == 0.0


def test_samples_of_two_kinds_are_noisy():
    assert summarise([5.0, 10.0] * 10).noisy is True


def test_fewer_repeats_than_were_asked_for_are_noisy():
    assert summarise([5.0] * 20, wanted=21).noisy is True


def test_one_sample_is_summarised_but_its_error_is_unknown():
    assert summarise([3.0]).median_us == 3.0
    assert summarise([3.0]).noisy is True
    assert median_error([3.0]) == math.inf


def test_the_error_of_the_median_shrinks_with_samples():
    draw = np.random.default_rng(1).normal(10, 1, 10_000)

    assert median_error(sorted(draw)) < median_error(sorted(draw[:100])) / 5


def test_the_median_of_all_lies_within_its_error_in_19_of_20_samples():
    drawn = np.sort(np.random.default_rng(2).lognormal(1, 0.3, (1000, 51)), axis=1)

    found = sum(abs(np.median(one) - math.e) <= median_error(one) for one in drawn)

    assert found > 950


def test_another_run_has_its_median_within_the_interval_in_19_of_20_tries():
    draws = np.random.default_rng(3)
    shifts = 1 + draws.normal(0, 0.0097, 2000)
    runs = [summarise(draws.normal(20, 0.6, 50) * shift) for shift in shifts]

    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    agree = sum(one.interval_us[0] <= two.median_us <= one.interval_us[1] for one, two in pairs)

    assert agree >= 0.95 * len(pairs)


def test_the_interval_of_equal_samples_is_what_runs_differ_by():
    low, high = summarise([50.0] * 20).interval_us

    assert low == pytest.approx(47.98, abs=0.01)
    assert high == pytest.approx(52.02, abs=0.01)


def test_kernels_too_short_to_measure_are_no_division_by_zero():
    found = summarise([0.0] * 20)

    assert found.noisy is False
    assert found.interval_us[0] == 0.0


def test_times_are_rounded_to_a_nanosecond():
    reported = summarise([1.23456789] * 3).to_dict()

    assert reported["median_us"] == 1.235
    assert all(round(one, 3) == one for one in reported["interval_us"])
