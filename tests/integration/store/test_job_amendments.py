"""Amendments after a job's end reach its followers, and stay in its record."""

import asyncio

import pytest

from store.events import EventFollowers, Events
from store.launches import Amendments
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"


@pytest.fixture
def amendments(redis):
    return Amendments(redis)


@pytest.fixture
async def following(redis, blocking):
    following = EventFollowers(redis, blocking, Events(redis), silence_s=0.2)
    task = asyncio.create_task(following.run())
    yield following
    task.cancel()
    await asyncio.wait([task])


async def kinds(following, seen=None):
    seen = [] if seen is None else seen
    async for event in following.follow("k"):
        if event is not None:
            seen.append(event.kind)
    return seen


async def finished(submit, worker):
    await submit("k")
    claim = await worker().claim([LANE])
    await worker().finish("k", claim.token, b"first", reusable=True, keep_s=60)
    return claim.token


async def test_a_follower_stays_for_a_amendment(jobs, submit, worker, amendments, following):
    await amendments.expect("k")
    token = await finished(submit, worker)
    seen = []
    follower = asyncio.create_task(kinds(following, seen))
    await comes_true(lambda: "finished" in seen)
    assert not follower.done()

    assert await amendments.amend("k", token, b"second", "finding", {"line": 12})

    assert await follower == ["queued", "started", "finished", "finding"]
    assert (await jobs.result("k")).record == b"second"


async def test_a_late_reader_also_sees_the_amendment(submit, worker, amendments, following):
    token = await finished(submit, worker)
    await amendments.amend("k", token, None, "finding", {})

    assert await kinds(following) == ["queued", "started", "finished", "finding"]


async def test_a_amendment_that_never_comes_lets_followers_go(
    submit, worker, amendments, following
):
    await amendments.expect("k", life_ms=300)
    await finished(submit, worker)

    async with asyncio.timeout(5):
        assert (await kinds(following))[-1] == "finished"


async def test_an_attempt_that_did_not_finish_the_job_reports_nothing(
    jobs, submit, worker, amendments
):
    token = await finished(submit, worker)

    assert not await amendments.amend("k", token + 1, b"forged", "finding", {})
    assert (await jobs.result("k")).record == b"first"
