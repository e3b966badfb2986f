"""Outputs of timed runs are told from checked ones, and some of them are sent."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch

from worker.gpu.program import repeat_outputs
from worker.gpu.program.repeat_outputs import RepeatOutputs, digest

SECRET = 7


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.complex64])
@pytest.mark.parametrize("count", [1, 5, 64, 1003])
def test_one_changed_bit_is_another_digest(dtype: torch.dtype, count: int) -> None:
    octets = torch.zeros(count * dtype.itemsize, dtype=torch.uint8)
    before = digest(octets.view(dtype), SECRET)

    for at in {0, octets.numel() // 2, octets.numel() - 1}:
        for bit in (1, 128):
            changed = octets.clone()
            changed[at] ^= bit
            assert digest(changed.view(dtype), SECRET) != before


def test_elements_in_another_order_are_another_digest() -> None:
    tensor = torch.arange(100.0)

    assert digest(tensor.flip(0), SECRET) != digest(tensor, SECRET)


def test_a_digest_is_of_elements_and_not_of_how_they_lie() -> None:
    tensor = torch.randn(6, 8)

    assert digest(tensor.t().contiguous().t(), SECRET) == digest(tensor, SECRET)


def test_a_digest_of_many_pieces_is_that_of_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat_outputs, "_PIECE_WORDS", 4)
    tensor = torch.randn(100)
    changed = tensor.clone()
    changed[77] += 1

    assert digest(tensor, SECRET) != digest(changed, SECRET)
    assert digest(tensor, SECRET) == digest(tensor.clone(), SECRET)


def test_nothing_has_a_digest() -> None:
    assert digest(torch.empty(0, 3), SECRET) == 0


def sent_by(outputs: RepeatOutputs) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return what it reports and what it sends."""
    sent: dict[str, torch.Tensor] = {}
    return outputs.report(lambda stage, one: sent.update({stage: one})), sent


def test_runs_that_differ_are_counted_and_one_of_them_is_sent() -> None:
    right, wrong = torch.ones(100), torch.zeros(100)
    outputs = RepeatOutputs({0: [right]}, Random(1))
    for number in range(50):
        outputs.see(0, [wrong if number == 40 else right.clone()])

    report, sent = sent_by(outputs)

    assert (report["checked_repeats"], report["differing_repeats"]) == (50, 1)
    (at,) = [at for at, one in enumerate(report["repeats"]) if one["differs"]]
    assert report["repeats"][at]["repeat"] == 40
    assert torch.equal(sent[f"repeat-{at}:0"], wrong)


def test_what_is_sent_is_as_it_was_when_its_run_was_over() -> None:
    memory = torch.zeros(10)
    outputs = RepeatOutputs({0: [memory]}, Random(1))
    outputs.see(0, [memory])
    memory.fill_(7)

    _, sent = sent_by(outputs)

    assert torch.equal(sent["repeat-0:0"], torch.zeros(10))


def test_a_call_that_returns_no_tensor_is_compared_as_well() -> None:
    outputs = RepeatOutputs({0: []}, Random(1))
    outputs.see(0, [])

    report, sent = sent_by(outputs)

    assert report["checked_repeats"] == 1
    assert not sent


def test_large_outputs_are_sent_of_one_repeat_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat_outputs, "MOST_SENT_BYTES", 500)
    right, wrong = torch.ones(100), torch.zeros(100)
    outputs = RepeatOutputs({0: [right]}, Random(1))
    for number in range(20):
        outputs.see(0, [wrong if number == 3 else right.clone()])

    report, sent = sent_by(outputs)

    assert [one["repeat"] for one in report["repeats"]] == [3]
    assert list(sent) == ["repeat-0:0"]


def test_outputs_larger_than_is_sent_are_only_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat_outputs, "MOST_SENT_BYTES", 399)
    outputs = RepeatOutputs({0: [torch.ones(100)]}, Random(1))
    outputs.see(0, [torch.zeros(100)])

    report, sent = sent_by(outputs)

    assert report["differing_repeats"] == 1
    assert report["repeats"] == []
    assert not sent
