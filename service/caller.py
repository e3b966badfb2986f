"""Callers: API keys, their scopes, and the anonymous caller of a service without keys.

An address that sends many unknown keys has to wait, which makes guessing a key infeasible. The
number of remembered callers and addresses is bounded; the least recently seen go first.

A revoked key ends the running requests that came with it. Every wait, stream, upload and download
is inside a request, so no route has to handle this. An answer that its client has not yet received
in full is cut off with its connection.
"""

import asyncio
import ipaddress
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Protocol
from weakref import WeakKeyDictionary

from cachetools import LRUCache, TTLCache
from fastapi import Request
from redis.asyncio import Redis

from jobs.work_context import CALLER_ID
from service.http.bodies_in_flight import IN_SCOPE
from service.http.middleware import CONNECTION, REVOKED, add_headers, at_end
from service.http.problems import ProblemRaised, rate_limit_headers
from store import scripts
from store.api_keys import ApiKeys
from store.errors import StoreUnavailable

HOLD_S: Final = 1.0
MAX_CALLERS: Final = 10_000


class RequestRate:
    """Counts the requests of limited callers; a burst of one second's worth is allowed.

    A caller that was refused as often within a second, and asks again, waits for `HOLD_S` first. So
    one that repeats what was refused, as fast as it is answered, takes no time from the others.
    """

    def __init__(self, redis: Redis) -> None:
        self._take = scripts.load(redis, "take_request")
        self._refusals: TTLCache[str, int] = TTLCache(MAX_CALLERS, ttl=HOLD_S)

    async def take(self, caller: str, requests_per_s: float) -> dict[str, str]:
        """Count one request and return the headers of its answer.

        Raises ProblemRaised (429) beyond the limit, StoreUnavailable.
        """
        burst = max(1, math.ceil(requests_per_s))
        every_us = math.ceil(1e6 / requests_per_s)
        if self._refusals.get(caller, 0) >= burst:
            await asyncio.sleep(HOLD_S)
        answer: Any = await self._take(args=[caller, every_us, burst])
        is_allowed, left, wait_ms = answer
        wait_s = max(1, math.ceil(wait_ms / 1000))
        headers = rate_limit_headers("requests", requests_per_s, 1, left=left, more_in_s=wait_s)
        if not is_allowed:
            self._refusals[caller] = self._refusals.get(caller, 0) + 1
            detail = f"Your API key allows {requests_per_s:g} requests a second"
            headers["Retry-After"] = str(wait_s)
            raise ProblemRaised("too_many_requests", detail, headers=headers, limit=requests_per_s)
        return headers


CHECK_S = 0.5
"""The interval of reading keys while changes of them may be missed."""
Identify = Callable[[str], Awaitable[str | None]]
FAILURES_AT_ONCE = 50
FAILURES_PER_S = 1.0
MAX_ADDRESSES = 10_000
V6_SITE_BITS = 64
"""The part of an IPv6 address that its owner cannot choose."""
SCOPES = ("compile", "launch", "admin")
REMEMBER_S = 5.0
MAX_SECRET_CHARS = 256
MAX_SECRETS = 10_000


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class FailedLogins:
    """Limits failures per address: a burst of `FAILURES_AT_ONCE`, then one a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: LRUCache[str, tuple[float, float]] = LRUCache(MAX_ADDRESSES)

    def note(self, address: str) -> None:
        """Count an unknown key from `address`."""
        site = site_of(address)
        self._failed[site] = (self._count(site) + 1, self._clock())

    def wait_s(self, address: str) -> float:
        """Return how many seconds `address` must wait before its next key is read; 0 for none."""
        return max(0.0, (self._count(site_of(address)) - FAILURES_AT_ONCE + 1) / FAILURES_PER_S)

    def _count(self, site: str) -> float:
        count, at = self._failed.get(site, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * FAILURES_PER_S)


@lru_cache(maxsize=1024)
def site_of(address: str) -> str:
    """Return the part of `address` that its owner cannot choose: for IPv6 the first half.

    Cached, because parsing an address would cost every request more than its caller does.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ipaddress.ip_network((int(ip), V6_SITE_BITS), strict=False))


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of a request and of its interests, launches, batches and tensors."""

    id: str
    scopes: frozenset[str]
    namespace: str
    requests_per_s: float | None = None
    """None: as many as come."""


ANONYMOUS = Caller("anonymous", frozenset(SCOPES), "")


class Callers:
    """Identifies callers, remembering each key for `REMEMBER_S`.

    The cache is emptied whenever a key is created or revoked, and stays off while the subscription
    to such changes is down. So the first key ends anonymous access at once. Without any key, every
    caller of a private service may do everything. After the last key is revoked, no request is
    served.
    """

    def __init__(self, api_keys: ApiKeys, limits: RequestRate, *, is_private: bool) -> None:
        self._api_keys = api_keys
        self._limits = limits
        self._is_private = is_private
        self._is_subscribed = False
        self._generation = 0
        self._remembered: LRUCache[str, tuple[float, Caller | None]] = LRUCache(MAX_SECRETS)
        self._failed = FailedLogins()
        self._proven: LRUCache[str, bool] = LRUCache(MAX_SECRETS)
        self._reading: dict[str, asyncio.Task[Caller | None]] = {}
        self.open_requests = OpenRequests(self._id_of)

    async def identify(self, request: Request, *scopes: str) -> Caller:
        """Return the caller of `request`, which must have one of `scopes`.

        Raises ProblemRaised: 401 without a valid key if keys exist, 403 without a scope, 429 for
        another unknown key from an address that sent too many of them, or a request beyond its
        key's limit.
        """
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme and scheme.lower() != "bearer":
            raise _unauthorized("Write `Authorization: Bearer <API key>`")
        secret = secret.strip()
        address = request.client.host if request.client is not None else ""
        self._refuse_guesses(address, secret)
        caller = await self._find(secret) if len(secret) <= MAX_SECRET_CHARS else None
        if caller is None and not secret:
            raise _unauthorized(
                "This service needs an API key; send `Authorization: Bearer <API key>`"
            )
        if caller is None:
            self._proven.pop(secret, None)
            self._failed.note(address)
            raise _unauthorized("This API key is not known")
        if caller is not ANONYMOUS:
            # known keys first: they may share an address with a guesser
            self._proven[secret] = True
        if (body := request.scope.get(IN_SCOPE)) is not None:
            body.belongs_to(site_of(address) if caller is ANONYMOUS else caller.id)
        request.scope.setdefault("state", {})[CALLER_ID] = caller.id
        if caller.requests_per_s is not None:
            headers = await self._limits.take(caller.id, caller.requests_per_s)
            add_headers(request.scope, headers)
        require(caller, *scopes)
        self.open_requests.begin(request, secret, caller.id)
        return caller

    async def count(self, request: Request) -> None:
        """Count a request that is refused before its route identifies the caller.

        Raises ProblemRaised as that does.
        """
        if CALLER_ID not in request.scope.setdefault("state", {}):
            await self.identify(request, *SCOPES)

    def _refuse_guesses(self, address: str, secret: str) -> None:
        """Raise ProblemRaised (429) when `address` has failed too often to try a new key."""
        wait_s = 0.0 if not secret or secret in self._proven else self._failed.wait_s(address)
        if wait_s > 0:
            detail = "This address sent too many unknown API keys; wait before the next one"
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise ProblemRaised("too_many_requests", detail, headers=headers)

    async def is_open(self) -> bool:
        """Return True if requests without a key are served."""
        return self._is_private and await self._find("") is not None

    def forget(self) -> None:
        """Forget all callers: API keys have changed."""
        self._generation += 1
        self._remembered.clear()
        self._reading.clear()
        self.open_requests.check()

    def start_remembering(self) -> None:
        """Remember callers from now on: this process now hears of changes to API keys."""
        self.forget()
        self._is_subscribed = True

    def stop_remembering(self) -> None:
        """Stop remembering callers: this process may miss changes."""
        self._is_subscribed = False
        self.forget()

    async def end_revoked(self) -> None:
        """End requests with a revoked key within a second. Runs until cancelled."""
        await self.open_requests.run(lambda: not self._is_subscribed)

    async def _id_of(self, secret: str) -> str | None:
        caller = await self._find(secret)
        return None if caller is None else caller.id

    async def _find(self, secret: str) -> Caller | None:
        known = self._remembered.get(secret)
        if known is not None and time.monotonic() - known[0] < REMEMBER_S:
            return known[1]
        generation = self._generation
        caller = await self._read_once(secret)
        if self._is_subscribed and generation == self._generation:
            self._remembered[secret] = (time.monotonic(), caller)
        return caller

    async def _read_once(self, secret: str) -> Caller | None:
        """Read a key once for all requests that bring it at the same time."""
        reading = self._reading.get(secret)
        if reading is None:
            reading = self._reading[secret] = asyncio.create_task(self._read(secret))
            reading.add_done_callback(lambda done: self._read_is_done(secret, done))
        return await asyncio.shield(reading)

    def _read_is_done(self, secret: str, reading: asyncio.Task[Caller | None]) -> None:
        if self._reading.get(secret) is reading:
            del self._reading[secret]

    async def _read(self, secret: str) -> Caller | None:
        if secret and (key := await self._api_keys.find(secret)):
            return Caller(key.id, frozenset(key.scopes), key.namespace, key.requests_per_s)
        return None if not self._is_private or await self._api_keys.any() else ANONYMOUS


def require(caller: Caller, *scopes: str) -> None:
    """Raise ProblemRaised (403) when the caller has none of `scopes`."""
    if not caller.scopes.isdisjoint(scopes) or "admin" in caller.scopes:
        return
    named = " or ".join(map(repr, scopes))
    raise ProblemRaised("forbidden", f"The API key {caller.id!r} lacks the scope {named}")


def _unauthorized(detail: str) -> ProblemRaised:
    return ProblemRaised("unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})


class Connection(Protocol):
    """The connection that a request came by."""

    @property
    def is_answering(self) -> bool:
        """True if a part of an answer was written, or waits to be received."""

    def abort(self) -> None:
        """Close the connection at once, and drop what was not received yet."""


@dataclass(frozen=True, slots=True)
class _Key:
    """The secret of a request, and the caller that it stood for when the request came."""

    secret: str
    caller_id: str


@dataclass(frozen=True, slots=True)
class _Open:
    key: _Key
    state: dict[str, Any]

    @property
    def connection(self) -> Connection | None:
        connection: Connection | None = self.state.get(CONNECTION)
        return connection


class OpenRequests:
    """Ends the requests whose secret `identify` does not find to be the same caller any more."""

    def __init__(self, identify: Identify) -> None:
        self._identify = identify
        self._open: dict[asyncio.Task[Any], _Open] = {}
        self._being_received: WeakKeyDictionary[Connection, set[_Key]] = WeakKeyDictionary()
        """The keys whose answers a connection may still hold."""
        self._changed = asyncio.Event()

    def begin(self, request: Request, secret: str, caller_id: str) -> None:
        """Note that this task serves `request` until the request ends."""
        task = asyncio.current_task()
        if task is not None and task not in self._open:  # else a request of this very task
            state = request.scope.setdefault("state", {})
            self._open[task] = _Open(_Key(secret, caller_id), state)
            at_end(request.scope, partial(self._end, task))

    def _end(self, task: asyncio.Task[Any]) -> None:
        ended = self._open.pop(task)
        if (connection := ended.connection) is None:
            return
        if self._being_received.get(connection) == {ended.key}:
            return  # saves most requests a system call; `_end_revoked` looks at the connection
        if connection.is_answering:
            self._being_received.setdefault(connection, set()).add(ended.key)
        else:
            self._being_received.pop(connection, None)

    def check(self) -> None:
        """Have all keys looked up again, as a key was made or revoked."""
        self._changed.set()

    async def run(self, may_miss_changes: Callable[[], bool]) -> None:
        """End what must end, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(CHECK_S):
                    await self._changed.wait()
            except TimeoutError:
                if not may_miss_changes():
                    continue
            self._changed.clear()
            try:
                await self._end_revoked()
            except StoreUnavailable:
                await asyncio.sleep(CHECK_S)
                self._changed.set()

    async def _end_revoked(self) -> None:
        keys = {each.key for each in self._open.values()}.union(*self._being_received.values())
        callers = {secret: await self._identify(secret) for secret in {k.secret for k in keys}}

        def is_revoked(key: _Key) -> bool:
            # one that came while keys were looked up was itself looked up after the change
            return key.secret in callers and callers[key.secret] != key.caller_id

        for connection, held in list(self._being_received.items()):
            if any(map(is_revoked, held)) and connection.is_answering:
                connection.abort()
        for task, each in list(self._open.items()):
            if is_revoked(each.key):
                each.state[REVOKED] = True
                if (used := each.connection) is not None and used.is_answering:
                    used.abort()
                task.cancel()
