"""Seeds of a replay give the numbers of `torch.manual_seed`, without asking another device."""

from __future__ import annotations

import pytest
import torch

from programs.replay.program_run import seed_torch


@pytest.mark.parametrize("seed", [0, 42, -1, 2**63 - 1])
def test_numbers_are_those_of_torchs_own_seed(seed: int) -> None:
    torch.manual_seed(seed)
    expected = torch.randn(100)

    seed_torch(seed, torch.device("cpu"))

    assert torch.equal(torch.randn(100), expected)


def test_no_other_kind_of_device_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    for module in (torch.cuda, torch.xpu, torch.mtia):
        monkeypatch.setattr(module, "manual_seed_all", asked.append)

    seed_torch(42, torch.device("cpu"))

    assert not asked
