"""Concurrent tasks send their commands to the store in common round trips."""

import asyncio

from redis import exceptions

from store import keys
from store.connection import StoreClient, connect
from store.errors import StoreUnavailable
from store.launches import Launches
from store.round_trips import MAX_BYTES, shared_round_trips
from tests.integration.service.running import free_port

COMMANDS = 300


async def _reads(redis: StoreClient) -> int:
    return int((await redis.info("stats"))["total_reads_processed"])


async def test_commands_of_concurrent_tasks_share_round_trips(redis: StoreClient):
    before = await _reads(redis)

    with shared_round_trips():
        await asyncio.gather(*(redis.set(f"{keys.PROBE}{n}", n) for n in range(COMMANDS)))
        values = await asyncio.gather(*(redis.get(f"{keys.PROBE}{n}") for n in range(COMMANDS)))

    assert values == [b"%d" % n for n in range(COMMANDS)]
    assert await _reads(redis) - before < COMMANDS / 10


async def test_a_command_that_is_wrong_fails_alone(redis: StoreClient):
    await redis.set(keys.PROBE, "text")

    with shared_round_trips():
        right, wrong, also_right = await asyncio.gather(
            redis.get(keys.PROBE),
            redis.hgetall(keys.PROBE),
            redis.exists(keys.PROBE),
            return_exceptions=True,
        )

    assert (right, also_right) == (b"text", 1)
    assert isinstance(wrong, exceptions.ResponseError)


async def test_a_script_that_the_server_forgot_is_sent_again(redis: StoreClient):
    launches = Launches(redis)
    await redis.script_flush()

    with shared_round_trips():
        await asyncio.gather(*(launches.create(f"launch-{n}", "alice") for n in range(20)))

    assert await launches.find("launch-19", "alice") is not None


async def test_a_command_that_is_cancelled_leaves_the_others_alone(redis: StoreClient):
    async def run() -> tuple[asyncio.Task[object], asyncio.Task[object]]:
        cancelled = asyncio.create_task(redis.set(f"{keys.PROBE}1", 1))
        other = asyncio.create_task(redis.set(f"{keys.PROBE}2", 2))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled, other])
        return cancelled, other

    with shared_round_trips():
        cancelled, other = await run()

    assert cancelled.cancelled()
    assert other.result()
    assert await redis.get(f"{keys.PROBE}1") is None
    assert await redis.get(f"{keys.PROBE}2") == b"2"


async def test_long_commands_take_several_round_trips(redis: StoreClient):
    text = b"x" * (MAX_BYTES // 3)

    with shared_round_trips():
        await asyncio.gather(*(redis.set(f"{keys.PROBE}{n}", text) for n in range(10)))
        await redis.set(f"{keys.PROBE}longer", text * 4)

    sizes = [await redis.strlen(f"{keys.PROBE}{n}") for n in range(10)]
    assert sizes == [len(text)] * 10
    assert await redis.strlen(f"{keys.PROBE}longer") == 4 * len(text)


async def test_each_task_learns_that_the_store_is_away():
    redis = connect(f"redis://127.0.0.1:{free_port()}/0")

    with shared_round_trips():
        answers = await asyncio.gather(
            *(redis.get(f"{keys.PROBE}{n}") for n in range(3)), return_exceptions=True
        )
    await redis.aclose()

    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
