"""Who is asking: API keys, their scopes, and the anonymous caller of a service without keys."""

import asyncio
import time
from dataclasses import dataclass

from fastapi import Request

from service.problems import ProblemRaised
from store.api_keys import ApiKeys

SCOPES = ("compile", "launch", "admin")
REMEMBER_S = 5.0
MAX_SECRET_CHARS = 256


@dataclass(frozen=True, slots=True)
class Caller:
    """The owner of interests, turns and (later) launches."""

    id: str
    scopes: frozenset[str]
    namespace: str


ANONYMOUS = Caller("anonymous", frozenset(SCOPES), "")


class Callers:
    """Identifies callers, remembering each key for a few seconds."""

    def __init__(self, api_keys: ApiKeys) -> None:
        self._api_keys = api_keys
        self._remembered: dict[str, tuple[float, Caller | None]] = {}
        self._reading: dict[str, asyncio.Task[Caller | None]] = {}

    async def identify(self, request: Request, scope: str) -> Caller:
        """Return the caller of `request`.

        Raises ProblemRaised: 401 without a valid key where keys exist, 403 without `scope`.
        """
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme and scheme.lower() != "bearer":
            raise _unauthorized("Write `Authorization: Bearer <API key>`")
        if len(secret) > MAX_SECRET_CHARS:
            raise _unauthorized("This API key is not known")
        caller = await self._find(secret.strip())
        if caller is None:
            raise _unauthorized(
                "This API key is not known" if secret else "This service needs an API key"
            )
        if scope not in caller.scopes and "admin" not in caller.scopes:
            detail = f"The API key {caller.id!r} lacks the scope {scope!r}"
            raise ProblemRaised("forbidden", detail)
        return caller

    async def _find(self, secret: str) -> Caller | None:
        known = self._remembered.get(secret)
        if known is not None and time.monotonic() - known[0] < REMEMBER_S:
            return known[1]
        if len(self._remembered) > 10_000:
            self._remembered.clear()
        caller = await self._read_once(secret)
        self._remembered[secret] = (time.monotonic(), caller)
        return caller

    async def _read_once(self, secret: str) -> Caller | None:
        """Read one key once, however many requests bring it at the same time."""
        reading = self._reading.get(secret)
        if reading is None:
            reading = self._reading[secret] = asyncio.create_task(self._read(secret))
            reading.add_done_callback(lambda _: self._reading.pop(secret))
        return await asyncio.shield(reading)

    async def _read(self, secret: str) -> Caller | None:
        if secret and (key := await self._api_keys.find(secret)):
            return Caller(key.id, frozenset(key.scopes), key.namespace)
        return None if await self._api_keys.any() else ANONYMOUS


def _unauthorized(detail: str) -> ProblemRaised:
    return ProblemRaised("unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
