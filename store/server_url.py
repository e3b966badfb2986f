"""The URL of a store: one server, or the Sentinels that know which of several is the master.

    redis://user:password@host:6379/0       rediss://… with TLS       unix:///path?db=0
    redis+sentinel://user:password@host-1:26379,host-2:26379/name/0   rediss+sentinel://… with TLS

User and password are the servers'. Those of the Sentinels, and the files for TLS, are parameters
behind `?`, with the names that redis-py gives them.
"""

import re
import socket
import weakref
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from redis import exceptions
from redis.asyncio import (
    Connection,
    ConnectionPool,
    Redis,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection
from redis.backoff import NoBackoff

SENTINEL_PORT: Final = 26379
SENTINEL_ANSWER_S: Final = 1.0
"""They are asked one after the other. A machine that is cut off often held the master and a
Sentinel, so most of the time for a connection must be left for the others."""
SILENT_HOST_S: Final = 5
_NOTICE_SILENT_HOST: Final = {
    socket.TCP_KEEPIDLE: 2,
    socket.TCP_KEEPINTVL: 1,
    socket.TCP_KEEPCNT: SILENT_HOST_S - 2,
    socket.TCP_USER_TIMEOUT: SILENT_HOST_S * 1000,
}
"""A machine that is cut off closes no connection. Who only listens on one finds out by these."""
SCHEMES: Final = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel")
TLS: Final = (
    *("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile"),
    *("ssl_cert_reqs", "ssl_check_hostname"),
)
OF_SENTINELS: Final = ("sentinel_username", "sentinel_password")
_DATABASE: Final = re.compile(r"/?[0-9]*/?")
EXAMPLE: Final = "redis+sentinel://:password@sentinel-1:26379,sentinel-2:26379/mymaster/0"


class NoMaster(exceptions.TimeoutError):
    """No Sentinel names the master; the message has the reason of each, and what to set."""


class _Master:
    """The present master, for connections that ask for its address whenever they are made.

    When it is another server than before, idle connections to the old one are closed: it may be
    cut off, and would let each of them run into its timeout.
    """

    is_master = True
    check_connection = True

    def __init__(self, sentinel: Sentinel, name: str) -> None:
        self.pool: weakref.ref[ConnectionPool] | None = None
        self._sentinel = sentinel
        self._name = name
        self._address: tuple[str, int] | None = None

    async def get_master_address(self) -> tuple[str, int]:
        address = await self._ask()
        pool = self.pool() if self.pool is not None else None
        if self._address not in (None, address) and pool is not None:
            await pool.disconnect(inuse_connections=False)
        self._address = address
        return address

    async def _ask(self) -> tuple[str, int]:
        """Return the address that the first Sentinel names who knows it. Raises NoMaster.

        redis-py's `discover_master` does not name the Sentinel that wants it.
        """
        reasons, sentinels = [], self._sentinel.sentinels
        for item in tuple(sentinels):
            answer = await self._ask_one(item)
            if not isinstance(answer, str):
                sentinels.remove(item)
                sentinels.insert(0, item)  # the next connection asks it first
                return answer
            where = item.connection_pool.connection_kwargs
            reasons.append(f"{where['host']}:{where['port']} {answer}")
        raise NoMaster(f"no Sentinel names a master {self._name!r}: {'; '.join(reasons)}.")

    async def _ask_one(self, sentinel: Redis) -> tuple[str, int] | str:
        """Return what a Sentinel names, or why it names none and what to do."""
        try:
            masters: Any = await sentinel.sentinel_masters()
        except exceptions.AuthenticationError:
            return "refuses the password: set sentinel_password, or sentinel_username too"
        except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
            return f"does not answer: {str(error).rstrip('.')}"
        except exceptions.ResponseError as error:
            return f"answers {str(error)[:100]!r}: is it a Sentinel, and may its user do this?"
        if self._name not in masters:
            return f"knows other masters: {', '.join(sorted(masters))[:200]}"
        state = masters[self._name]
        if not self._sentinel.check_master_state(state, self._name):
            return "reports that the master is down"
        return state["ip"], state["port"]


def checked_store_url(url: str) -> str:
    """Return `url`. Raises ValueError, which does not repeat it: it may hold a password."""
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in SCHEMES:
        raise ValueError(f"must begin with one of {', '.join(f'{name}://' for name in SCHEMES)}")
    if "+sentinel" in scheme:
        _sentinel_parts(url)
        return url
    try:
        ConnectionPool.from_url(url).make_connection()  # type: ignore[no-untyped-call]
    except (TypeError, ValueError, exceptions.RedisError):
        raise ValueError(
            "is not a URL of a Redis server, as in redis://:password@host:6379/0: a part or a "
            "parameter is wrong; write special characters of the password as %40"
        ) from None
    # redis-py takes database 0 for a name, and 12 for 1/2
    if scheme != "unix" and not _DATABASE.fullmatch(urlsplit(url).path):
        raise ValueError(
            "needs the number of a database, or nothing, after the port, as in "
            "redis://:password@host:6379/0"
        )
    return url


def make_pool(
    pool_class: type[ConnectionPool], url: str, **options: Any
) -> tuple[ConnectionPool, Sentinel | None]:
    """Return a pool of connections to `url`, and the Sentinels that it asks, if it asks any.

    The caller closes both.
    """
    scheme = url.partition("://")[0]
    if scheme != "unix":
        options["socket_keepalive_options"] = _NOTICE_SILENT_HOST
    if "+sentinel" not in scheme:
        return _check_connections(pool_class.from_url(url, **options)), None
    sentinels, name, of_servers, of_sentinels = _sentinel_parts(url)
    bounds = {
        "socket_timeout": SENTINEL_ANSWER_S,
        "socket_connect_timeout": SENTINEL_ANSWER_S,
        # an idle connection may be lost
        "retry": Retry(NoBackoff(), 1, (exceptions.ConnectionError,)),
    }
    sentinel = Sentinel(sentinels, sentinel_kwargs=of_sentinels | bounds)  # type: ignore[no-untyped-call]
    master = _Master(sentinel, name)
    uses_tls = url.startswith("rediss")
    pool = pool_class(
        connection_class=_ToMasterByTls if uses_tls else _ToMaster,
        connection_pool=master,
        **of_servers,
        **options,
    )
    master.pool = weakref.ref(pool)
    return pool, sentinel


def _sentinel_parts(
    url: str,
) -> tuple[list[tuple[str, int]], str, dict[str, Any], dict[str, Any]]:
    """Return hosts and ports, the master's name, and options for the servers and Sentinels."""
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    name, _, database = parts.path.lstrip("/").partition("/")
    if not name or not hosts or (database and not database.isdecimal()):
        raise ValueError(f"needs hosts, the master's name and a database number, as in {EXAMPLE}")
    of_servers: dict[str, Any] = {"db": int(database or 0)}
    if username:
        of_servers["username"] = unquote(username)
    if password:
        of_servers["password"] = unquote(password)
    of_sentinels: dict[str, Any] = {"ssl": True} if parts.scheme.startswith("rediss") else {}
    for option, value in parse_qsl(parts.query):
        if option in OF_SENTINELS:
            of_sentinels[option.removeprefix("sentinel_")] = value
        elif option in TLS and of_sentinels.get("ssl"):
            parsed = value.lower() == "true" if option == "ssl_check_hostname" else value
            of_servers[option] = of_sentinels[option] = parsed
        else:
            raise ValueError(
                f"has a parameter {option[:40]!r} that is not known, or needs rediss+sentinel://"
            )
    return [_host_and_port(host) for host in hosts.split(",")], name, of_servers, of_sentinels


def _host_and_port(written: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{written}")
        port = parts.port or SENTINEL_PORT
    except ValueError:
        raise ValueError(f"needs a port between 1 and 65535 in {written[:80]!r}") from None
    if not parts.hostname:
        raise ValueError(f"needs a host before each comma, as in {EXAMPLE}")
    return parts.hostname, port


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


def _check_connections(pool: ConnectionPool) -> ConnectionPool:
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


class _ToMaster(_LeavesFailing, SentinelManagedConnection):
    """A connection to the master that Sentinels name."""


class _ToMasterByTls(_LeavesFailing, SentinelManagedSSLConnection):
    """The same with TLS."""
