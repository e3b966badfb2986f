"""Connections to servers. They end with redis-py's ConnectionError where its own would not."""

from typing import Any

from redis import exceptions
from redis.asyncio import Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection


class _Checked(AbstractConnection):
    async def send_packed_command(self, *args: Any, **options: Any) -> None:
        try:
            await super().send_packed_command(*args, **options)
        except RuntimeError as error:
            # by uvloop, where the server or the kernel closed the connection a moment ago
            if "handler is closed" not in str(error):
                raise
            raise exceptions.ConnectionError(
                "It was closed before the command was sent."
            ) from error


class _Tcp(_Checked, Connection):
    pass


class _Tls(_Checked, SSLConnection):
    pass


class _Unix(_Checked, UnixDomainSocketConnection):
    pass


_CHECKED = {Connection: _Tcp, SSLConnection: _Tls, UnixDomainSocketConnection: _Unix}


def check_connections(pool: ConnectionPool) -> ConnectionPool:
    """Have a pool that redis-py made of a URL use the connections of this module."""
    pool.connection_class = _CHECKED[pool.connection_class]
    return pool


class _LeavesFailing(_Checked):
    """Closes itself when the server cannot write to its disk.

    Sentinels replace such a master, and it stays up: only the next connection asks who it is now.
    """

    async def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*args, **options)
        except exceptions.ResponseError as error:
            if str(error).startswith("MISCONF"):
                await self.disconnect()
            raise


class ToMaster(_LeavesFailing, SentinelManagedConnection):
    """A connection to the master that Sentinels name."""


class ToMasterByTls(_LeavesFailing, SentinelManagedSSLConnection):
    """The same with TLS."""
