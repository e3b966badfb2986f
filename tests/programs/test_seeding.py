"""Seeds of a replay give the numbers that `torch.manual_seed` gives, and leave nothing behind."""

from __future__ import annotations

import pytest
import torch

from programs.replay.own_generators import seed_torch


@pytest.mark.parametrize("seed", [0, 42, -1, 2**63 - 1])
def test_numbers_are_those_of_torchs_own_seed(seed: int) -> None:
    torch.manual_seed(seed)
    expected = torch.randn(100)

    seed_torch(seed, torch.device("cpu"))

    assert torch.equal(torch.randn(100), expected)


def test_seeding_again_and_again_keeps_nothing() -> None:
    before = len(torch.xpu._queued_calls)

    for seed in range(10):
        seed_torch(seed, torch.device("cpu"))

    assert len(torch.xpu._queued_calls) == before
