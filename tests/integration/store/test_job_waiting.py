"""Waiting: woken at once by a publication, within a second or two without it."""

import asyncio
import time

from store import keys

LANE = "compile:triton-3.9.0"


async def finish_one(worker, record=b"ok"):
    claim = await worker().claim([LANE])
    await worker().finish(claim.id, claim.token, record, reusable=True, keep_s=60)


async def test_a_waiter_gets_the_result(submit, worker, finished):
    await submit("vector-add")
    waiting = asyncio.create_task(finished.wait("vector-add", 30))
    await asyncio.sleep(0.1)
    assert not waiting.done()

    await finish_one(worker)

    result = await asyncio.wait_for(waiting, 5)
    assert (result.record, result.reusable) == (b"ok", True)


async def test_a_waiter_who_comes_late_gets_the_result(submit, worker, finished):
    await submit("vector-add")
    await finish_one(worker)

    assert (await asyncio.wait_for(finished.wait("vector-add", 30), 5)).record == b"ok"


async def test_a_waiter_gives_up_in_time(submit, finished):
    await submit("vector-add")

    assert await finished.wait("vector-add", 0.05) is None


async def test_a_lost_publication_hangs_nobody(redis, submit, finished):
    await submit("vector-add")
    waiting = asyncio.create_task(finished.wait("vector-add", 30))
    await asyncio.sleep(0.1)

    await redis.hset(keys.RESULT + "vector-add", mapping={"record": b"ok", "reusable": "1"})

    assert (await asyncio.wait_for(waiting, 5)).record == b"ok"


async def test_a_lost_connection_hangs_nobody(redis, submit, worker, finished):
    await submit("vector-add")
    waiting = asyncio.create_task(finished.wait("vector-add", 30))
    await asyncio.sleep(0.2)

    await redis.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
    await finish_one(worker)

    assert (await asyncio.wait_for(waiting, 5)).record == b"ok"


async def test_a_thousand_waiters_share_one_read(redis, submit, worker, finished):
    await submit("vector-add")
    waiting = [asyncio.create_task(finished.wait("vector-add", 30)) for _ in range(1_000)]
    await asyncio.sleep(0.1)
    before = (await redis.info("commandstats"))["cmdstat_hmget"]["calls"]
    started = time.monotonic()

    await finish_one(worker)
    results = await asyncio.wait_for(asyncio.gather(*waiting), 10)

    assert {result.record for result in results} == {b"ok"}
    after = (await redis.info("commandstats"))["cmdstat_hmget"]["calls"]
    reads_each_second = time.monotonic() - started
    assert after - before <= 10 + reads_each_second


async def test_a_waiter_who_leaves_does_not_disturb_the_others(submit, worker, finished):
    await submit("vector-add")
    staying = asyncio.create_task(finished.wait("vector-add", 30))
    leaving = asyncio.create_task(finished.wait("vector-add", 30))
    await asyncio.sleep(0.05)

    leaving.cancel()
    await asyncio.wait([leaving])
    await finish_one(worker)

    assert leaving.cancelled()
    assert (await asyncio.wait_for(staying, 5)).record == b"ok"
