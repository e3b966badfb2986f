"""The time of a call, divided among its ops."""

from __future__ import annotations

import pytest

from programs.gpu.entry_times import (
    MAX_MARKER_US,
    entry_medians,
    marker_us,
    without_markers,
)


def test_an_op_has_the_median_of_its_times() -> None:
    assert entry_medians([[1.0, 30.0], [3.0, 10.0], [2.0, 20.0]]) == [2.0, 20.0]


def test_marks_are_taken_out_of_every_op_alike() -> None:
    assert marker_us([11.0, 21.0, 31.0], whole_us=60.0) == 1.0
    assert without_markers([11.0, 21.0, 31.0], whole_us=60.0) == [10.0, 20.0, 30.0]


def test_an_op_that_is_shorter_than_a_mark_takes_no_time_and_the_others_give_the_rest() -> None:
    found = without_markers([0.5, 21.0, 31.5], whole_us=50.0)

    assert found[0] == 0.0
    assert sum(found) == pytest.approx(50.0)
    assert found[2] - found[1] == pytest.approx(10.5)


def test_what_no_mark_takes_is_not_taken_out() -> None:
    found = without_markers([100.0, 100.0], whole_us=100.0)

    assert found == [100.0 - MAX_MARKER_US] * 2


def test_ops_that_are_quicker_than_the_whole_stay_as_they_are() -> None:
    assert without_markers([10.0, 20.0], whole_us=100.0) == [10.0, 20.0]


def test_a_call_without_ops_has_no_times() -> None:
    assert without_markers([], whole_us=5.0) == []
