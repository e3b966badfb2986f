"""`Idempotency-Key`: a repeated POST gets what the first one made."""

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from fastapi import Request

from compiler.rejection import RequestRejected
from service.caller import Caller
from service.http.body import canonical_json
from service.http.openapi import header
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.errors import QueueFull

HEADER: Final[dict[str, Any]] = header(
    "Idempotency-Key",
    "for 24 hours, the same key and body get what the first POST made; 422 for another body",
)
"""The parameter of a route that makes something."""
_NAME: Final = "Idempotency-Key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_REFUSALS = (ProblemRaised, RequestRejected, QueueFull)
Made = TypeVar("Made")


def idempotency_key(request: Request) -> str | None:
    """Return the header as it is; looked up in the raw headers, since every hit does it."""
    for name, value in request.scope["headers"]:
        if name == b"idempotency-key":
            return str(value.decode("latin-1"))
    return None


@dataclass(frozen=True, slots=True)
class KeyedPost:
    """A POST of a caller; `key` is None where it has no such header."""

    state: ServiceState
    caller: Caller
    key: str | None
    body: bytes

    @classmethod
    def of(cls, request: Request, state: ServiceState, caller: Caller, body: bytes) -> "KeyedPost":
        """Return `request` with its body."""
        return cls(state, caller, idempotency_key(request), body)

    async def make(
        self,
        make: Callable[[str], Awaitable[Made]],
        find: Callable[[str], Awaitable[Made | None]],
    ) -> Made:
        """Return what `find` finds under the id of the key, else what `make` creates.

        If a POST was cut short, `make` is called again under the same id. Raises ProblemRaised
        (422) if the key is malformed or was used with another body, and the errors of both.
        """
        if self.key is None:
            return await make(secrets.token_hex(16))
        job_id = await self._first_use(self.key)
        made = await find(job_id)
        if made is not None:
            return made
        try:
            return await make(job_id)
        except _REFUSALS:
            # so that a corrected body can use the key
            await self.state.idempotency.release(self.caller.id, self.key)
            raise

    async def name(self, job_id: str) -> None:
        """Make the key, if there is one, the name of the job that the made one was joined to."""
        if self.key is not None:
            digest = await self.state.threads.run(_digest_of, self.body)
            await self.state.idempotency.replace(self.caller.id, self.key, job_id, digest)

    async def _first_use(self, key: str) -> str:
        if not _KEY.fullmatch(key):
            detail = f"{_NAME} must have 1 to 255 visible ASCII characters"
            raise ProblemRaised("invalid_request", detail, parameter=_NAME)
        digest = await self.state.threads.run(_digest_of, self.body)
        job_id = secrets.token_hex(16)
        used = await self.state.idempotency.claim(self.caller.id, key, job_id, digest)
        if used.body_digest != digest:
            detail = f"{_NAME} {key!r} was used with another body; use a new key"
            raise ProblemRaised("invalid_request", detail, parameter=_NAME)
        return used.job_id


def _digest_of(body: bytes) -> str:
    """Return the SHA-256 of a body's values, whatever the order of its fields."""
    return hashlib.sha256(canonical_json(body)).hexdigest()
