"""Statistics of timings."""

import math

import numpy as np
import pytest

from worker.gpu.launcher.statistics import relative_error, summarise


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


def test_one_sample_is_summarised_but_its_error_is_unknown():
    assert summarise([3.0]).median_us == 3.0
    assert summarise([3.0]).noisy is True
    assert relative_error([3.0]) == math.inf


def test_the_error_of_the_mean_shrinks_with_samples():
    few, many = [9.0, 11.0] * 4, [9.0, 11.0] * 400

    assert relative_error(many) < relative_error(few) / 9


def test_kernels_too_short_to_measure_are_no_division_by_zero():
    assert summarise([0.0, 0.0]).noisy is False


def test_times_are_told_to_a_nanosecond():
    assert summarise([1.23456789] * 3).to_dict()["median_us"] == 1.235
