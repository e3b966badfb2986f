"""Who is asking: API keys, their scopes, and the anonymous caller of a service without keys.

Whether only this machine reaches an address, so that anybody may come without a key.

How often an address may bring API keys that are not known, so that guessing them takes for ever.

Bounded in memory: the addresses that failed longest ago are forgotten first.
"""

import asyncio
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from fastapi import Request

from service.http.problems import ProblemRaised
from store.api_keys import ApiKeys


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


BURST = 50
PER_S = 1.0
ADDRESSES = 10_000
V6_SITE_BITS = 64
"""The part of an IPv6 address that its owner cannot choose."""


class FailedLogins:
    """Each address may fail `BURST` times at once, and then once a second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def note(self, address: str) -> None:
        """Note that `address` brought a key that is not known."""
        site = _site(address)
        self._failed[site] = (self._count(site) + 1, self._clock())
        self._failed.move_to_end(site)
        if len(self._failed) > ADDRESSES:
            self._failed.popitem(last=False)

    def wait_s(self, address: str) -> float:
        """Return how long `address` must wait before another key is looked up; 0 for not at all."""
        return max(0.0, (self._count(_site(address)) - BURST + 1) / PER_S)

    def _count(self, site: str) -> float:
        count, at = self._failed.get(site, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * PER_S)


def _site(address: str) -> str:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ipaddress.ip_network((int(ip), V6_SITE_BITS), strict=False))


SCOPES = ("compile", "launch", "admin")
REMEMBER_S = 5.0
MAX_SECRET_CHARS = 256
MAX_PROVEN = 10_000


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of interests, turns and (later) launches."""

    id: str
    scopes: frozenset[str]
    namespace: str


ANONYMOUS = Caller("anonymous", frozenset(SCOPES), "")


class Callers:
    """Identifies callers, remembering each key for a few seconds.

    All are forgotten when a key is made or revoked, and nobody is remembered while word of that
    cannot be heard: the first key ends anonymous access at once. Without any key, everybody who
    reaches a private service may do everything; another one, whose last key was revoked, nobody.
    """

    def __init__(self, api_keys: ApiKeys, *, is_private: bool) -> None:
        self._api_keys = api_keys
        self._is_private = is_private
        self._hears_of_changes = False
        self._generation = 0
        self._remembered: dict[str, tuple[float, Caller | None]] = {}
        self._failed = FailedLogins()
        self._proven: OrderedDict[str, None] = OrderedDict()
        self._reading: dict[str, asyncio.Task[Caller | None]] = {}

    async def identify(self, request: Request, *scopes: str) -> Caller:
        """Return the caller of `request`, who must have one of `scopes`.

        Raises ProblemRaised: 401 without a valid key where keys exist, 403 without a scope, 429 for
        unknown keys from an address that brought too many of them.
        """
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme and scheme.lower() != "bearer":
            raise _unauthorized("Write `Authorization: Bearer <API key>`")
        secret = secret.strip()
        address = request.client.host if request.client is not None else ""
        self._slow_down(address, secret)
        caller = await self._find(secret) if len(secret) <= MAX_SECRET_CHARS else None
        if caller is None and not secret:
            raise _unauthorized("This service needs an API key")
        if caller is None:
            self._proven.pop(secret, None)
            self._failed.note(address)
            raise _unauthorized("This API key is not known")
        if caller is not ANONYMOUS:
            self._prove(secret)
        require(caller, *scopes)
        return caller

    def _slow_down(self, address: str, secret: str) -> None:
        """Raise ProblemRaised (429) when `address` has failed too often to try a new key."""
        wait_s = 0.0 if not secret or secret in self._proven else self._failed.wait_s(address)
        if wait_s > 0:
            detail = "Too many API keys from this address were not known; wait before the next one"
            headers = {"Retry-After": str(math.ceil(wait_s))}
            raise ProblemRaised("too_many_requests", detail, headers=headers)

    def _prove(self, secret: str) -> None:
        """Note a key that was right: who shares an address with a guesser is not slowed down."""
        self._proven[secret] = None
        self._proven.move_to_end(secret)
        if len(self._proven) > MAX_PROVEN:
            self._proven.popitem(last=False)

    async def is_open(self) -> bool:
        """Whether anybody is served without a key."""
        return self._is_private and await self._find("") is not None

    def forget(self) -> None:
        """Forget everybody: API keys have changed."""
        self._generation += 1
        self._remembered.clear()
        self._reading.clear()

    def hear(self) -> None:
        """Remember callers from now on, as changes are heard of."""
        self.forget()
        self._hears_of_changes = True

    def turn_deaf(self) -> None:
        """Remember nobody: changes may be missed."""
        self._hears_of_changes = False
        self.forget()

    async def _find(self, secret: str) -> Caller | None:
        known = self._remembered.get(secret)
        if known is not None and time.monotonic() - known[0] < REMEMBER_S:
            return known[1]
        if len(self._remembered) > 10_000:
            self._remembered.clear()
        generation = self._generation
        caller = await self._read_once(secret)
        if self._hears_of_changes and generation == self._generation:
            self._remembered[secret] = (time.monotonic(), caller)
        return caller

    async def _read_once(self, secret: str) -> Caller | None:
        """Read one key once, however many requests bring it at the same time."""
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
            return Caller(key.id, frozenset(key.scopes), key.namespace)
        return None if not self._is_private or await self._api_keys.any() else ANONYMOUS


def require(caller: Caller, *scopes: str) -> None:
    """Raise ProblemRaised (403) when the caller has none of `scopes`."""
    if not caller.scopes.isdisjoint(scopes) or "admin" in caller.scopes:
        return
    named = " or ".join(map(repr, scopes))
    raise ProblemRaised("forbidden", f"The API key {caller.id!r} lacks the scope {named}")


def _unauthorized(detail: str) -> ProblemRaised:
    return ProblemRaised("unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
