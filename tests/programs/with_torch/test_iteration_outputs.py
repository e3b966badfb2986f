"""The launcher compares outputs of timed runs with checked ones, and sends some of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
import torch

from programs.gpu import iteration_outputs
from programs.gpu.iteration_outputs import IterationOutputs
from tests.programs.with_torch.timed_programs import SentTensors, digests


@dataclass
class WatchedIterations:
    """Watched iterations, and the outputs that they send."""

    outputs: IterationOutputs
    sent: SentTensors

    def report(self) -> dict[str, Any]:
        """Return the report on all; afterwards nothing is held."""
        reported = self.outputs.report()
        self.outputs.close()
        assert not self.sent.held
        return reported


def watched(checked: Mapping[int, Sequence[torch.Tensor]], chance: int = 1) -> WatchedIterations:
    """Watch iterations that should repeat the checked output."""
    sent = SentTensors()
    known = {call: digests(one) for call, one in checked.items()}
    return WatchedIterations(IterationOutputs(known, Random(chance), digests, sent.hold), sent)


def test_runs_that_differ_are_counted_and_one_of_them_is_sent() -> None:
    right, wrong = torch.ones(100), torch.zeros(100)
    outputs = watched({0: [right]})
    outputs.outputs.expect(16)
    for number in range(50):
        outputs.outputs.compare(0, [wrong if number == 40 else right.clone()])

    report, sent = outputs.report(), outputs.sent

    assert (report["checked_repeats"], report["differing_repeats"]) == (50, 1)
    (at,) = [at for at, one in enumerate(report["repeats"]) if one["differs"]]
    assert report["repeats"][at]["repeat"] == 40
    assert torch.equal(sent[f"repeat-{at}:0"], wrong)


def test_what_is_sent_is_as_it_was_when_its_run_was_over() -> None:
    memory = torch.zeros(10)
    outputs = watched({0: [memory]})
    outputs.outputs.compare(0, [memory])
    memory.fill_(7)

    outputs.report()

    assert torch.equal(outputs.sent["repeat-0:0"], torch.zeros(10))


def test_a_call_that_returns_no_tensor_is_compared_as_well() -> None:
    outputs = watched({0: []})
    outputs.outputs.compare(0, [])

    report, sent = outputs.report(), outputs.sent

    assert report["checked_repeats"] == 1
    assert not sent


def test_large_outputs_are_sent_of_one_repeat_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_outputs, "MOST_SENT_BYTES", 500)
    right, wrong = torch.ones(100), torch.zeros(100)
    outputs = watched({0: [right]})
    for number in range(20):
        outputs.outputs.compare(0, [wrong if number == 3 else right.clone()])

    report, sent = outputs.report(), outputs.sent

    assert [one["repeat"] for one in report["repeats"]] == [3]
    assert list(sent) == ["repeat-0:0"]


def test_outputs_larger_than_is_sent_are_only_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iteration_outputs, "MOST_SENT_BYTES", 399)
    outputs = watched({0: [torch.ones(100)]})
    outputs.outputs.compare(0, [torch.zeros(100)])

    report, sent = outputs.report(), outputs.sent

    assert report["differing_repeats"] == 1
    assert report["repeats"] == []
    assert not sent


def test_each_run_is_as_likely_to_be_sent_as_any_other_however_many_come_at_once() -> None:
    found = Counter[int]()
    for chance in range(600):
        outputs = watched({0: [torch.ones(1)]}, chance)
        for batch in (8, 4):
            outputs.outputs.expect(batch)
            for _ in range(batch):
                outputs.outputs.compare(0, [torch.ones(1)])
        found.update(one["repeat"] for one in outputs.report()["repeats"])

    assert sum(found.values()) == 3 * 600
    assert all(100 < found[repeat] < 200 for repeat in range(12)), found


def test_no_more_is_held_of_a_batch_than_is_sent_of_it() -> None:
    outputs = watched({0: [torch.ones(1)]})
    outputs.outputs.expect(16)
    holds = []
    for _ in range(16):
        outputs.outputs.compare(0, [torch.ones(1)])
        holds.append(outputs.sent.held)

    assert holds == sorted(holds)
    assert holds[-1] == 3


def test_the_bytes_of_a_single_element_are_reported_whatever_its_stride() -> None:
    column = torch.arange(6, dtype=torch.int32)[1::3][:1]

    assert iteration_outputs.octets_of(column).tolist() == [1, 0, 0, 0]
