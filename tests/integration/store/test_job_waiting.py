"""Waiting: a publication wakes at once; without it, waiting ends within a second or two."""

import asyncio
import time

import pytest

from store import keys
from store.jobs import waiting as waiting_module
from tests.waiting import comes_true

LANE = "compile:triton-3.9.0"
SOON_S = 30
"""Seconds, less than any waiter waits."""


@pytest.fixture
def first_read(redis, finished):
    """Return an event: the awaited result was read once, in vain."""

    async def was_read():
        commands = await redis.info("commandstats")
        return finished.connected and commands.get("cmdstat_hmget", {"calls": 0})["calls"]

    async def first_read():
        await comes_true(was_read)

    return first_read


@pytest.fixture
async def redis(redis):
    """Yield a server with statistics of this test alone."""
    await redis.config_resetstat()
    return redis


async def finish_one(worker, record=b"ok"):
    claim = await worker().claim([LANE])
    await worker().finish(claim.id, claim.token, record, reusable=True, keep_s=60)


async def test_a_waiter_gets_the_result(submit, worker, finished, first_read):
    await submit("vector-add")
    waiting = asyncio.create_task(finished.wait("vector-add", 60))
    await first_read()
    assert not waiting.done()

    await finish_one(worker)

    result = await asyncio.wait_for(waiting, SOON_S)
    assert (result.record, result.reusable) == (b"ok", True)


async def test_a_waiter_who_comes_late_gets_the_result(submit, worker, finished):
    await submit("vector-add")
    await finish_one(worker)

    assert (await asyncio.wait_for(finished.wait("vector-add", 60), SOON_S)).record == b"ok"


async def test_a_waiter_gives_up_in_time(submit, finished):
    await submit("vector-add")

    assert await finished.wait("vector-add", 0.05) is None


async def test_a_lost_publication_leaves_no_waiter_hanging(redis, submit, finished, first_read):
    await submit("vector-add")
    waiting = asyncio.create_task(finished.wait("vector-add", 60))
    await first_read()

    await redis.hset(keys.RESULT + "vector-add", mapping={"record": b"ok", "reusable": "1"})

    assert (await asyncio.wait_for(waiting, SOON_S)).record == b"ok"


async def test_a_lost_connection_leaves_no_waiter_hanging(
    redis, submit, worker, finished, first_read
):
    await submit("vector-add")
    waiting = asyncio.create_task(finished.wait("vector-add", 60))
    await first_read()

    await redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    await finish_one(worker)

    assert (await asyncio.wait_for(waiting, SOON_S)).record == b"ok"


async def test_a_thousand_waiters_share_one_read(redis, submit, worker, finished, first_read):
    await submit("vector-add")
    waiting = [asyncio.create_task(finished.wait("vector-add", 60)) for _ in range(1_000)]
    await first_read()
    before = (await redis.info("commandstats"))["cmdstat_hmget"]["calls"]
    started = time.monotonic()

    await finish_one(worker)
    results = await asyncio.wait_for(asyncio.gather(*waiting), SOON_S)

    assert {result.record for result in results} == {b"ok"}
    after = (await redis.info("commandstats"))["cmdstat_hmget"]["calls"]
    reads_each_second = time.monotonic() - started
    assert after - before <= 10 + reads_each_second


async def test_a_waiter_who_leaves_does_not_disturb_the_others(
    submit, worker, finished, first_read
):
    await submit("vector-add")
    staying = asyncio.create_task(finished.wait("vector-add", 60))
    leaving = asyncio.create_task(finished.wait("vector-add", 60))
    await first_read()

    leaving.cancel()
    await asyncio.wait([leaving])
    await finish_one(worker)

    assert leaving.cancelled()
    assert (await asyncio.wait_for(staying, SOON_S)).record == b"ok"


async def test_many_jobs_are_read_a_few_at_a_time(submit, worker, finished, redis, monkeypatch):
    monkeypatch.setattr(waiting_module, "READ_AT_ONCE", 4)
    sizes = []

    class CountedPipeline:
        def __init__(self, pipeline):
            self._pipeline = pipeline

        def __getattr__(self, name):
            return getattr(self._pipeline, name)

        async def execute(self):
            sizes.append(len(self._pipeline.command_stack))
            return await self._pipeline.execute()

    make = finished._redis.pipeline
    monkeypatch.setattr(finished._redis, "pipeline", lambda **how: CountedPipeline(make(**how)))
    names = [f"job {number}" for number in range(10)]
    for name in names:
        await submit(name)
    waits = [asyncio.create_task(finished.wait(name, 60)) for name in names]
    for _ in names:
        await finish_one(worker)

    assert all(result.record for result in await asyncio.gather(*waits))
    assert max(sizes) <= 2 * 4
