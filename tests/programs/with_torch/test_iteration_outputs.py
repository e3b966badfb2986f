"""The launcher compares outputs of timed runs with checked ones, by digests."""

from __future__ import annotations

import torch

from programs.gpu.timed_call import IterationOutputs, octets_of
from tests.programs.with_torch.timed_programs import digests


def test_runs_that_differ_are_counted() -> None:
    right, wrong = torch.ones(100), torch.zeros(100)
    outputs = IterationOutputs({0: digests([right])}, digests)
    for number in range(50):
        outputs.compare(0, [wrong if number == 40 else right.clone()])

    assert outputs.report() == {"checked_repeats": 50, "differing_repeats": 1}


def test_a_call_that_returns_no_tensor_is_compared_as_well() -> None:
    outputs = IterationOutputs({0: []}, digests)
    outputs.compare(0, [])

    assert outputs.report() == {"checked_repeats": 1, "differing_repeats": 0}


def test_the_bytes_of_a_single_element_are_reported_whatever_its_stride() -> None:
    column = torch.arange(6, dtype=torch.int32)[1::3][:1]

    assert octets_of(column).tolist() == [1, 0, 0, 0]
