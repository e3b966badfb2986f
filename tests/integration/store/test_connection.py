"""Connections: one named error for every failure of the server."""

import asyncio
import contextlib
import os
import signal
import time

import pytest
import uvloop
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import UnixDomainSocketConnection
from redis.exceptions import ResponseError

from store import connection, keys
from store.connection import connect, connect_blocking
from store.errors import StoreUnavailable
from store.jobs.waiting import ResultWaiter


async def test_a_server_that_is_not_there_is_one_named_error(tmp_path):
    client = connect(f"unix://{tmp_path}/absent.sock")
    pipeline = client.pipeline()
    pipeline.get("key")

    with pytest.raises(StoreUnavailable, match="not available"):
        await client.get("key")
    with pytest.raises(StoreUnavailable, match="not available"):
        await pipeline.execute()
    await client.aclose()


def test_a_connection_that_was_closed_meanwhile_is_made_again(valkey, monkeypatch):
    """The service runs on uvloop, which has a separate error for that."""
    sent = []
    original = UnixDomainSocketConnection.send_packed_command

    async def close_and_send(self, command, check_health=True):
        if not sent:
            sent.append(command)
            self._writer.transport.abort()
        await original(self, command, check_health)

    async def ask():
        async with connect(valkey.url) as client:
            await client.set("key", b"value")
            monkeypatch.setattr(UnixDomainSocketConnection, "send_packed_command", close_and_send)
            return await client.get("key")

    assert uvloop.run(ask()) == b"value"
    assert sent


async def test_a_full_server_is_unavailable(redis):
    await redis.config_set("maxmemory", "1mb")
    try:
        with pytest.raises(StoreUnavailable, match="memory"):
            await redis.set("key", b"x")
        with pytest.raises(StoreUnavailable, match="memory"):
            await redis.eval("return redis.call('SET', 'key', 'x')", 0)
    finally:
        await redis.config_set("maxmemory", "0")


async def test_a_wrong_command_is_not_hidden(redis):
    await redis.set("key", b"text")

    with pytest.raises(ResponseError, match="WRONGTYPE"):
        await redis.hget("key", "field")


async def test_many_requests_share_a_bounded_number_of_connections(valkey, redis):
    client = connect(valkey.url, max_connections=4)

    await asyncio.gather(*(client.get(f"key-{n}") for n in range(200)))

    assert len(await redis.client_list()) < 10
    await client.aclose()


async def test_a_blocking_read_may_take_long(valkey, monkeypatch):
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_S", 0.2)
    client = connect_blocking(valkey.url)

    assert not await client.xread({"stream": "0-0"}, block=600)

    await client.aclose()


@contextlib.contextmanager
def hanging(valkey):
    """Yield a server that takes connections and commands, and answers none."""
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(valkey.pid, signal.SIGCONT)


async def least_s(wait, most_s):
    """Return the shorter time of two tries, since something else may take time as well."""
    for _ in range(3):
        waited_s = await wait()
        if waited_s < most_s:
            break
    return waited_s


@pytest.mark.parametrize("is_connected", [True, False])
@pytest.mark.parametrize("how", ["command", "pipeline", "script"])
async def test_a_server_that_hangs_is_waited_for_once(valkey, monkeypatch, how, is_connected):
    """Not once for each command, and again for each connection."""
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_S", 0.5)

    async def waited_s():
        async with connect(valkey.url) as client:
            asked = {
                "command": lambda: client.get("key"),
                "pipeline": client.pipeline().get("key").execute,
                "script": client.register_script("return 1"),
            }[how]
            if is_connected:
                await client.get("key")
            with hanging(valkey):
                started = time.monotonic()
                with pytest.raises(StoreUnavailable, match="not available"):
                    await asked()
                return time.monotonic() - started

    assert 0.5 <= await least_s(waited_s, 1.0) < 1.0


async def test_waiting_for_a_connection_counts_against_the_same_timeout(valkey, monkeypatch):
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_S", 0.5)

    async def waited_s(client):
        started = time.monotonic()
        with pytest.raises(StoreUnavailable, match="not available"):
            await client.get("key")
        return time.monotonic() - started

    async def longest_s():
        async with connect(valkey.url, max_connections=1) as client:
            with hanging(valkey):
                return max(await asyncio.gather(*(waited_s(client) for _ in range(5))))

    assert await least_s(longest_s, 1.0) < 1.0


async def test_a_connection_is_given_up_in_time_though_a_cancellation_is_lost(valkey, monkeypatch):
    """`asyncio.wait_for` of Python 3.11 loses a cancellation that comes just as its task ends.

    redis-py sends through it, and each further attempt to connect would start its own timeout.
    """
    send = UnixDomainSocketConnection.send_packed_command

    async def sends_and_loses_a_cancellation(self, *args, **options):
        await send(self, *args, **options)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.4)

    monkeypatch.setattr(
        UnixDomainSocketConnection, "send_packed_command", sends_and_loses_a_cancellation
    )
    monkeypatch.setattr(connection, "ANSWER_TIMEOUT_S", 0.3)

    async def waited_s():
        async with connect(valkey.url) as client:
            with hanging(valkey):
                started = time.monotonic()
                with pytest.raises(StoreUnavailable, match=r"no connection to it within 0\.3 s"):
                    await client.get("key")
                return time.monotonic() - started

    assert 0.3 <= await least_s(waited_s, 0.8) < 0.8


async def test_waiters_outlive_an_unreachable_server(tmp_path):
    url = f"unix://{tmp_path}/absent.sock"
    redis, blocking = connect(url), connect_blocking(url)
    finished = ResultWaiter(redis, blocking)
    task = asyncio.create_task(finished.run())

    assert await finished.wait("vector-add", 0.5) is None

    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    await redis.aclose()
    await blocking.aclose()


async def test_scripts_are_loaded_again_after_the_server_forgot_them(redis, submit, jobs):
    await submit("vector-add")
    await redis.script_flush()

    assert (await jobs.state("vector-add")).position == 1
    assert await redis.exists(keys.JOB + "vector-add")


async def test_a_cancellation_that_redis_py_swallows_is_not_lost(redis, monkeypatch):
    """As happens while a connection is made: a loop over commands must end."""
    begun = asyncio.Event()

    async def swallow(self, *args, **options):
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    monkeypatch.setattr(Redis, "execute_command", swallow)
    monkeypatch.setattr(Pipeline, "execute", swallow)
    for command in (redis.get("key"), redis.pipeline().execute()):
        task = asyncio.ensure_future(command)
        await begun.wait()
        begun.clear()

        task.cancel()

        await asyncio.wait([task], timeout=5)
        assert task.cancelled()
