"""Makes a server refuse commands in one of several ways, and accept them again afterwards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from store.connection import StoreClient, connect_blocking
from store.embedded import EmbeddedValkey
from store.errors import StoreUnavailable
from tests.waiting import comes_true

ENDLESS = "while true do end"
Refusal = Callable[[EmbeddedValkey, StoreClient], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def busy(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """A foreign script runs forever: BUSY."""
    before = (await redis.config_get("busy-reply-threshold"))["busy-reply-threshold"]
    await redis.config_set("busy-reply-threshold", "20")
    client = connect_blocking(valkey.url)
    script = asyncio.create_task(client.eval(ENDLESS, 0))
    await comes_true(lambda: is_refused(redis.ping()))
    try:
        yield
    finally:
        await redis.script_kill()
        await asyncio.gather(script, return_exceptions=True)
        await client.aclose()
        # otherwise it would refuse for one of our scripts that a slow machine holds up
        await redis.config_set("busy-reply-threshold", before)


@asynccontextmanager
async def full_disk(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """The append-only file cannot be written because the disk is full: MISCONF.

    The next file of the log is /dev/full, on which every write fails as on a full disk.
    """
    folder = Path(valkey.url.removeprefix("unix://")).parent / "appendonlydir"
    number = max(int(file.name.split(".")[2]) for file in folder.glob("*.incr.aof")) + 1
    (folder / f"appendonly.aof.{number}.incr.aof").symlink_to("/dev/full")
    await redis.bgrewriteaof()
    await comes_true(lambda: _rewritten(redis))
    await comes_true(lambda: is_refused(redis.set("some", "data")))
    try:
        yield
    finally:
        await redis.bgrewriteaof()
        await comes_true(lambda: _rewritten(redis))
        await comes_true(lambda: is_accepted(redis.set("some", "data")))


async def _rewritten(redis: StoreClient) -> bool:
    info = await redis.info("persistence")
    return not info["aof_rewrite_in_progress"] and not info["aof_rewrite_scheduled"]


async def is_refused(command: Awaitable[object]) -> bool:
    return not await is_accepted(command)


async def is_accepted(command: Awaitable[object]) -> bool:
    try:
        await command
    except StoreUnavailable:
        return False
    return True


@asynccontextmanager
async def without_password(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """Every client needs a password: NOAUTH."""
    await redis.config_set("requirepass", "secret")
    await redis.execute_command("AUTH", "secret")
    await redis.client_kill_filter(skipme=True)
    try:
        yield
    finally:
        await redis.config_set("requirepass", "")


@asynccontextmanager
async def replica(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """The server becomes a replica whose primary is away: READONLY."""
    await redis.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        yield
    finally:
        await redis.execute_command("REPLICAOF", "NO", "ONE")


@asynccontextmanager
async def stale_replica(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """The server becomes a replica that does not even answer reads: MASTERDOWN."""
    await redis.config_set("replica-serve-stale-data", "no")
    async with replica(valkey, redis):
        yield
    await redis.config_set("replica-serve-stale-data", "yes")


@asynccontextmanager
async def too_few_replicas(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """It has fewer replicas than it must: NOREPLICAS."""
    await redis.config_set("min-replicas-to-write", "1")
    try:
        yield
    finally:
        await redis.config_set("min-replicas-to-write", "0")


@asynccontextmanager
async def full_memory(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """Its memory is full: OOM."""
    await redis.config_set("maxmemory", "1mb")
    try:
        yield
    finally:
        await redis.config_set("maxmemory", "0")


@asynccontextmanager
async def no_more_clients(valkey: EmbeddedValkey, redis: StoreClient) -> AsyncIterator[None]:
    """The server accepts no further client."""
    before = (await redis.config_get("maxclients"))["maxclients"]
    await redis.config_set("maxclients", "1")
    await redis.client_kill_filter(skipme=True)
    try:
        yield
    finally:
        await redis.config_set("maxclients", before)


WRITES_REFUSED: dict[str, Refusal] = {
    "busy": busy,
    "full disk": full_disk,
    "replica": replica,
    "stale replica": stale_replica,
    "too few replicas": too_few_replicas,
    "full memory": full_memory,
}
CONNECTIONS_LOST: dict[str, Refusal] = {
    "password": without_password,
    "no more clients": no_more_clients,
}
REFUSALS = WRITES_REFUSED | CONNECTIONS_LOST
