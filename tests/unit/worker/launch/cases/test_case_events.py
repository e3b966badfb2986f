"""Events of a launch's cases: complete, in order, and with few commands to the store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from launch.request.launch_record import CaseResult
from store.events import Events
from store.jobs.types import Claim
from worker.launch.cases.case_events import CaseEvents


class RecordingStore:
    """Fakes the store: records the cases of each command."""

    def __init__(self) -> None:
        self.commands: list[list[int]] = []

    async def append_all(
        self, job_id: str, token: int, kind: str, data: Sequence[Mapping[str, Any]]
    ) -> bool:
        await asyncio.sleep(0)
        self.commands.append([item["index"] for item in data])
        return True


def case(index: int) -> CaseResult:
    return CaseResult(index=index, name=None)


@pytest.fixture
def written() -> RecordingStore:
    return RecordingStore()


@pytest.fixture
def news(written: RecordingStore) -> CaseEvents:
    claim = Claim(
        id="launch", lane="cpu", priority="normal", payload=b"", token=1, attempt=1, deliveries=1,
        refresh=False, deadline_at_ms=0, submitted_at_ms=0, started_at_ms=0,
    )  # fmt: skip
    return CaseEvents(cast("Events", written), claim)


async def test_cases_that_end_together_are_reported_together(
    written: RecordingStore, news: CaseEvents
) -> None:
    async with news:
        for index in range(50):
            await news.send(case(index))

    assert written.commands == [list(range(50))]


async def test_a_case_is_reported_while_the_next_one_runs(
    written: RecordingStore, news: CaseEvents
) -> None:
    async with news:
        await news.send(case(0))
        async with asyncio.timeout(5):
            while not written.commands:
                await asyncio.sleep(0.005)
        await news.send(case(1))

    assert written.commands == [[0], [1]]


async def test_of_a_launch_that_is_broken_off_nothing_more_is_reported(
    written: RecordingStore, news: CaseEvents
) -> None:
    with contextlib.suppress(RuntimeError):
        async with news:
            await news.send(case(0))
            raise RuntimeError

    assert written.commands == []
