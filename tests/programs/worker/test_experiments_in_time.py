"""Experiments that take longer than a program's deadline allows are left out."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from jobs.deadline import DeadlinePassed
from programs.program_record import ProgramFlag
from programs.worker import experiments
from programs.worker.experiments import TorchShare, make_experiments
from programs.worker.program_trials import ProgramTrials

pytestmark = pytest.mark.unit

FLAG = ProgramFlag(kind="torch_did_the_work", message="torch computes it")


class LateTrial:
    """Other values that take too long: from the start, or for the flags alone."""

    is_late_at_once = False

    @classmethod
    async def of(cls, _: Any) -> LateTrial:
        if cls.is_late_at_once:
            raise DeadlinePassed(60.0)
        return cls()

    async def flags(self) -> list[ProgramFlag]:
        raise DeadlinePassed(60.0)


@pytest.mark.parametrize("is_late_at_once", [False, True])
def test_what_was_found_in_time_is_kept(
    monkeypatch: pytest.MonkeyPatch, is_late_at_once: bool
) -> None:
    async def share(*_: Any) -> TorchShare:
        return TorchShare(0.75, [FLAG])

    monkeypatch.setattr(LateTrial, "is_late_at_once", is_late_at_once)
    monkeypatch.setattr(experiments, "ValueTrial", LateTrial)
    monkeypatch.setattr(experiments, "torch_share", share)

    found = asyncio.run(make_experiments(cast("ProgramTrials", None)))

    assert not found.is_complete
    assert (found.flags, found.coverage) == (([], None) if is_late_at_once else ([FLAG], 0.25))
