"""Connections to Redis or Valkey: bytes in, bytes out, bounded waiting, and one named error.

Nothing here knows what is stored. A connection made by `connect` must not run blocking commands:
its answers have a deadline. One made by `connect_blocking` has none, and never retries by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis import exceptions
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff, NoBackoff

from store.errors import StoreUnavailable

ANSWER_TIMEOUT_S = 5.0
CONNECT_TIMEOUT_S = 5.0
MAX_CONNECTIONS = 64
RETRIES = 2

_UNAVAILABLE = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
)  # Refusals that redis-py knows only as ResponseError: the append-only file cannot be written, a
# replica lost its primary, a script runs for too long.
_REFUSALS = ("MISCONF", "MASTERDOWN", "NOREPLICAS", "BUSY ")


@contextmanager
def unavailable() -> Iterator[None]:
    """Turn what redis-py raises when the server is away or refuses into `StoreUnavailable`."""
    try:
        yield
    except _UNAVAILABLE as error:
        raise StoreUnavailable(f"The store is not available: {error}") from error
    except exceptions.ResponseError as error:
        if str(error).startswith(_REFUSALS):
            raise StoreUnavailable(f"The store refuses to work: {error}") from error
        raise


class _Pipeline(Pipeline):
    async def execute(self, raise_on_error: bool = True) -> list[Any]:
        with unavailable():
            return await super().execute(raise_on_error)


class Server(Redis):
    """A redis-py client whose commands raise `StoreUnavailable` when the server is away."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        """Run one command; a server that is away or refuses raises `StoreUnavailable`."""
        with unavailable():
            return await super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> Pipeline:
        """Return a pipeline with the same errors."""
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


def connect(url: str, *, max_connections: int = MAX_CONNECTIONS) -> Server:
    """Return a client for ordinary commands; `url` is redis://, rediss:// or unix://.

    It connects at the first command. A command is sent again after a lost connection, so every
    command and script of the store bears to run twice. The caller closes the client with
    `aclose()`.
    """
    pool: BlockingConnectionPool = BlockingConnectionPool.from_url(
        url,
        max_connections=max_connections,
        timeout=ANSWER_TIMEOUT_S,
        socket_timeout=ANSWER_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(ExponentialBackoff(cap=0.5, base=0.05), RETRIES),
    )
    return _owning(pool)


def connect_blocking(url: str) -> Server:
    """Return a client for subscriptions and blocking reads: no deadline for answers, no retry.

    Each blocked reader and each subscription holds one connection, so their number is not bounded
    here.
    """
    pool: ConnectionPool = ConnectionPool.from_url(
        url,
        socket_timeout=None,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
    )
    return _owning(pool)


def _owning(pool: ConnectionPool) -> Server:
    server = Server(connection_pool=pool)
    server.auto_close_connection_pool = True
    return server
