"""Clients of Redis or Valkey: bytes in, bytes out, bounded waiting, and one named error.

Nothing here knows what is stored. A client made by `connect` must not run blocking commands: its
answers have a deadline. One made by `connect_blocking` has none, and never retries by itself.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson
from redis import exceptions
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.connection import AbstractConnection, Connection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import ExponentialBackoff, NoBackoff

from store import keys, scripts
from store.errors import ShardedCluster, StoreUnavailable
from store.round_trips import RoundTrips, are_shared
from store.server_url import make_pool

PROBE_LIFE_S: Final = 10
ANSWER_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 5.0
LOST_S: Final = 0.1
MAX_CONNECTIONS = 64
MAX_BLOCKING_CONNECTIONS = 10_000  # redis-py's default is 100
RETRIES = 2
ACK_MS: Final = 2_000
"""The time that replicas get to confirm a write."""
_READS: Final = frozenset(
    "EXISTS GET HGET HGETALL HKEYS HMGET HSTRLEN HVALS INFO LLEN MGET PING PTTL PUBLISH SCARD "
    "SCRIPT SISMEMBER SMEMBERS STRLEN TIME TTL XINFO XLEN XRANGE XREAD XREVRANGE ZCARD ZMSCORE "
    "ZRANGE ZRANGEBYSCORE ZREVRANGE ZSCORE".split()
)
"""Commands whose answers need no confirmation. A missing one costs time only."""
_OUR_MISTAKES: Final = frozenset(
    {"ERR", "WRONGTYPE", "NOSCRIPT", "NOGROUP", "BUSYGROUP", "CROSSSLOT"}
)
"""The codes of answers that mean a wrong command. Every other code means that a right one is
refused for now: BUSY, MISCONF, OOM, READONLY, LOADING, NOAUTH, NOPERM, MASTERDOWN and others."""
_NO_DATABASE: Final = "DB index is out of range"
_KILLED: Final = "Script killed by user"
_IN_PIPELINE: Final = "of pipeline caused error: "  # redis-py puts the command before the answer
_CODE: Final = re.compile(r"\W*([A-Z]+)\b")


@contextmanager
def unavailable() -> Iterator[None]:
    """Turn what redis-py raises when the server is away or refuses into `StoreUnavailable`."""
    try:
        yield
    except exceptions.AuthenticationError as error:
        raise StoreUnavailable(
            "The store refuses the user or the password. Write them into its URL, as in "
            "redis://user:password@host:6379/0."
        ) from error
    except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
        raise StoreUnavailable(f"The store is not available: {error}") from error
    except exceptions.ResponseError as error:
        if _NO_DATABASE in str(error):
            raise StoreUnavailable(
                "The store has no database of this number. Write a smaller one at the end of its "
                "URL, as in redis://:password@host:6379/0."
            ) from error
        if not is_refusal(error):
            raise
        raise StoreUnavailable(f"The store refuses to work: {error}") from error


def is_refusal(error: exceptions.ResponseError) -> bool:
    """Return whether the server refused a command that was right, so that it is worth a retry."""
    message = str(error).rpartition(_IN_PIPELINE)[2]
    code = error.status_code
    if code is None:
        match = _CODE.match(message)
        code = match[1] if match else "ERR"
    return code not in _OUR_MISTAKES or _KILLED in message


@contextmanager
def cancellable() -> Iterator[None]:
    """Raise the cancellation that redis-py swallows when it comes while a connection is made.

    Also in place of an error that it becomes. A loop over commands would never end otherwise.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    error = None
    try:
        yield
    except Exception as raised:  # noqa: BLE001  (it is raised below)
        error = raised
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError from error
    if error is not None:
        raise error


class _Pipeline(Pipeline):
    ack_replicas = 0

    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        with cancellable(), unavailable():
            return await super().execute(raise_on_error)

    async def _execute_transaction(
        self, connection: Connection, commands: Any, raise_on_error: bool
    ) -> list[Any]:
        answers = await super()._execute_transaction(connection, commands, raise_on_error)
        await _confirm(self, connection, self.ack_replicas, (words for words, _ in commands))
        return answers  # type: ignore[no-any-return]

    async def _execute_pipeline(
        self, connection: Connection, commands: Any, raise_on_error: bool
    ) -> list[Any]:
        answers = await super()._execute_pipeline(connection, commands, raise_on_error)
        await _confirm(self, connection, self.ack_replicas, (words for words, _ in commands))
        return answers  # type: ignore[no-any-return]


async def _confirm(
    client: Redis, connection: Connection, replicas: int, commands: Iterable[Sequence[Any]]
) -> None:
    """Return when `replicas` have what `commands` wrote; raise StoreUnavailable if they do not.

    WAIT counts only the writes of the connection that sends it.
    """
    if not replicas or not any(map(_writes, commands)):
        return
    await connection.send_command("WAIT", replicas, ACK_MS)
    confirmed = int(await client.parse_response(connection, "WAIT"))
    if confirmed < replicas:
        raise StoreUnavailable(
            f"The store wrote this, but {confirmed} of {replicas} replicas confirmed it within "
            f"{ACK_MS / 1000:g} s. It may be lost. Send the same request again."
        )


def _writes(command: Sequence[Any]) -> bool:
    name = command[0]
    if name == "EVALSHA":
        return command[1] not in scripts.unconfirmed()
    return name not in _READS


class _Pool(BlockingConnectionPool):
    """Connections that are there, made if need be, within the time that an answer may take."""

    async def get_connection(self, *_: object, **__: object) -> AbstractConnection:
        """Return one, which is the caller's until it is released."""
        try:
            # twice: `asyncio.wait_for` of Python 3.11, by which redis-py sends, may lose the first
            async with (
                asyncio.timeout(ANSWER_TIMEOUT_S + LOST_S),
                asyncio.timeout(ANSWER_TIMEOUT_S),
            ):
                return await super().get_connection()  # type: ignore[no-any-return, no-untyped-call]
        except TimeoutError as error:
            message = f"no connection to it within {ANSWER_TIMEOUT_S:g} s"
            raise exceptions.TimeoutError(message) from error


class StoreClient(Redis):
    """A redis-py client whose commands raise `StoreUnavailable` when the server is away.

    With `ack_replicas`, it answers a write when that many replicas have it.
    """

    ack_replicas = 0
    sentinels: Sentinel | None = None
    round_trips: RoundTrips | None = None

    async def aclose(self, close_connection_pool: bool | None = None) -> None:
        """Close the connections to the server and to its Sentinels."""
        await super().aclose(close_connection_pool)
        if self.sentinels is not None:
            await self.sentinels.aclose()

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run one command; a server that is away or refuses raises `StoreUnavailable`."""
        with cancellable(), unavailable():
            if self.round_trips is not None and are_shared():
                return await self.round_trips.run(args, options)
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """Return a pipeline with the same errors."""
        pipeline = _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipeline.ack_replicas = self.ack_replicas
        return pipeline

    async def _send_command_parse_response(
        self, conn: Connection, command_name: str, *args: Any, **options: Any
    ) -> Any:
        answer = await super()._send_command_parse_response(conn, command_name, *args, **options)  # type: ignore[no-untyped-call]
        await _confirm(self, conn, self.ack_replicas, (args,))
        return answer


def connect(
    url: str, *, ack_replicas: int = 0, max_connections: int = MAX_CONNECTIONS
) -> StoreClient:
    """Return a client for ordinary commands. `store.server_url` describes `url`.

    It connects at the first command. A command is sent again after a lost connection, so every
    command and script of the store bears to run twice; a server that does not answer in time is not
    asked again. With `ack_replicas`, a write is answered when that many replicas have it, and
    raises StoreUnavailable otherwise. The caller closes the client with `aclose()`.
    """
    retry = Retry(ExponentialBackoff(cap=0.5, base=0.05), RETRIES, (exceptions.ConnectionError,))
    pool, sentinel = make_pool(
        _Pool,
        url,
        max_connections=max_connections,
        timeout=None,
        socket_timeout=ANSWER_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=retry,
    )
    client = _with_own_pool(pool, sentinel)
    client.ack_replicas = ack_replicas
    client.round_trips = RoundTrips(lambda: client.pipeline(transaction=False))
    return client


def connect_blocking(url: str) -> StoreClient:
    """Return a client for subscriptions and blocking reads: no deadline for answers, no retry.

    Each blocked reader and each subscription of a process holds one connection.
    """
    pool, sentinel = make_pool(
        ConnectionPool,
        url,
        max_connections=MAX_BLOCKING_CONNECTIONS,
        socket_timeout=None,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )
    return _with_own_pool(pool, sentinel)


def _with_own_pool(pool: ConnectionPool, sentinel: Sentinel | None) -> StoreClient:
    server = StoreClient(connection_pool=pool)
    server.sentinels = sentinel
    server.auto_close_connection_pool = True
    return server


async def refuse_sharded_cluster(redis: Redis) -> None:
    """Raise ShardedCluster when the server is a node of one."""
    info: Any = await redis.info("cluster")
    if info.get("cluster_enabled"):
        raise ShardedCluster


async def probe(redis: Redis, within_s: float, *, writes: bool) -> None:
    """Return when the server has done a small command.

    Raises StoreUnavailable when it is away, refuses, or does not answer in time. A server that is
    full or cannot write to its disk refuses what writes.
    """
    try:
        async with asyncio.timeout(within_s):
            if writes:
                await redis.set(keys.PROBE, 1, ex=PROBE_LIFE_S)
            else:
                await redis.exists(keys.PROBE)
    except TimeoutError as error:
        raise StoreUnavailable(f"The store did not answer within {within_s:g} s.") from error


class EssentialWrites:
    """Registers workers and toolchains by writes that a server with full memory accepts."""

    def __init__(self, redis: Redis) -> None:
        self._write = scripts.load(redis, "write_essential")

    async def write(self, *commands: Sequence[str]) -> None:
        """Run all of `commands`, each a list of words, in one step."""
        await self._write(args=[orjson.dumps(commands)])
