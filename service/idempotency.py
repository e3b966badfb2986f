"""`Idempotency-Key`: a repeated POST gets the job of the first one."""

import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from service.caller import Caller
from service.http.body import canonical_json
from service.http.problems import ProblemRaised
from service.state import ServiceState
from store.jobs.types import SubmitOutcome, Submitted, Waiting

_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class SubmitAs(Protocol):
    """Submits a job under a given id."""

    def __call__(self, job_id: str, *, waiting: Waiting | None) -> Awaitable[Submitted]:
        """Submit the job; `waiting` is the interest of the request that will wait for it."""


@dataclass(frozen=True, slots=True)
class KeyedSubmit:
    """Submits under the idempotency key of a request; None for a request without one.

    `is_there` says whether its caller owns such a job.
    """

    state: ServiceState
    caller: Caller
    key: str | None
    body: bytes
    submit: SubmitAs
    is_there: Callable[[str], Awaitable[bool]]

    async def __call__(self, *, waiting: Waiting | None) -> Submitted:
        """Submit the job that the key stands for, unless it exists.

        Raises ProblemRaised (422) if the key is malformed or was used with another body, and the
        errors of `submit`.
        """
        if self.key is None:
            return await self.submit(secrets.token_hex(16), waiting=waiting)
        job_id = await self._first_use(self.key)
        if await self.is_there(job_id) and not await self.state.client.is_lost(job_id):
            return Submitted(job_id, SubmitOutcome.JOIN)
        try:
            return await self.submit(job_id, waiting=waiting)
        except Exception:
            # so that a corrected body can use the key
            await self.state.idempotency.release(self.caller.id, self.key)
            raise

    async def _first_use(self, key: str) -> str:
        if not _IDEMPOTENCY_KEY.fullmatch(key):
            detail = "Idempotency-Key must have 1 to 255 visible ASCII characters"
            raise ProblemRaised("invalid_request", detail, parameter="Idempotency-Key")
        body = canonical_json(self.body)
        used = await self.state.idempotency.claim(self.caller.id, key, secrets.token_hex(16), body)
        if not used.is_same(body):
            detail = f"Idempotency-Key {key!r} was used with another body; use a new key"
            raise ProblemRaised("invalid_request", detail, parameter="Idempotency-Key")
        return used.launch_id
