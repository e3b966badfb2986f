"""A caller that repeats refused requests as fast as it can is slowed down."""

import asyncio
import time

import pytest

from service.caller import RequestRate
from service.http.problems import ProblemRaised


@pytest.fixture
def is_refused(redis):
    """Return whether a request of alice is refused, who may make one in 100 seconds."""
    limits = RequestRate(redis)

    async def is_refused() -> bool:
        try:
            await limits.take("alice", 0.01)
        except ProblemRaised:
            return True
        return False

    return is_refused


async def test_a_refused_caller_that_asks_again_at_once_waits_for_its_answer(is_refused):
    assert [await is_refused(), await is_refused()] == [False, True]
    began_s = time.monotonic()

    assert await is_refused()

    assert time.monotonic() - began_s >= 0.9


async def test_the_held_requests_of_a_caller_wait_together(is_refused):
    await is_refused()
    await is_refused()
    asking = [asyncio.create_task(is_refused()) for _ in range(5)]

    done, _ = await asyncio.wait(asking, timeout=0.1)

    assert not done
    assert all(await asyncio.gather(*asking))
