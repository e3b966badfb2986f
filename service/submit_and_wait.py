"""Submitting a job and waiting for its result, for every route that does so.

A job that the store loses in the meantime, as a failover may, is submitted again from what was
posted: nobody else knows that it ever was. What a job is, and what its result says, is not known
here.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from service.caller import Caller
from service.state import ServiceState
from store.errors import JobLost
from store.jobs.types import SubmitOutcome, Submitted, Waiting

IsGone = Callable[[], Awaitable[bool]]
MAX_LOSSES = 3
HANG_UP_CHECK_S = 2.0
"""How often it is looked whether a client that waits is still there."""


class Submit(Protocol):
    """What submits a job."""

    def __call__(self, *, waiting: Waiting | None) -> Awaitable[Submitted]:
        """Submit it; `waiting` is the interest of the request that is going to wait for it."""


@dataclass(frozen=True, slots=True)
class WaitingClient:
    """A client whose wait keeps its job alive, whoever else withdraws, and who may hang up.

    `cancelled_record` makes what the job ends with when nobody is left then.
    """

    caller: Caller
    is_gone: IsGone
    cancelled_record: Callable[[], bytes]


async def submit_and_wait(
    state: ServiceState, submit: Submit, wait_s: float, client: WaitingClient | None = None
) -> tuple[Submitted, bytes | None]:
    """Return what became of the submit, and the job's record if there is one within `wait_s`.

    Without a `client` the job goes on whether or not anybody waits. Raises what `submit` raises,
    and JobLost when the store loses the job again and again.
    """
    deadline = time.monotonic() + wait_s
    for _ in range(MAX_LOSSES):
        waiting = interest_of_wait(deadline - time.monotonic()) if client is not None else None
        submitted = await submit(waiting=waiting)
        job_id = submitted.job_id
        if submitted.outcome is SubmitOutcome.HIT:
            return submitted, submitted.record
        try:
            if client is not None and waiting is not None:
                record = await wait_as_client(state, job_id, waiting, client)
            else:
                record = await _wait(state, job_id, deadline - time.monotonic())
            if record is not None or not await is_lost(state, job_id):
                return submitted, record
        except JobLost:
            continue
    raise JobLost(job_id)


def interest_of_wait(wait_s: float) -> Waiting | None:
    """Return the interest of a request that may wait so long, None for one that does not wait."""
    return Waiting(secrets.token_hex(8), int(wait_s * 1000)) if wait_s > 0 else None


async def wait_as_client(
    state: ServiceState, job_id: str, waiting: Waiting, client: WaitingClient
) -> bytes | None:
    """Return the record of a job that `waiting` was noted for; None after its time, or at our end.

    The interest of the wait ends with it. That of a client who hangs up is withdrawn; one who is
    answered before there is a result is expected to ask again, and leaves the standing interest
    of its API key. Raises JobLost when the store has lost the job.
    """
    deadline = time.monotonic() + waiting.wait_ms / 1000
    while (left_s := deadline - time.monotonic()) > 0 and not state.results.closed:
        record = await _wait(state, job_id, min(left_s, HANG_UP_CHECK_S))
        if record is not None:
            return record
        if await client.is_gone():
            await state.jobs.withdraw(job_id, waiting.interest, client.cancelled_record())
            return None
    await state.jobs.end_wait(job_id, waiting, client.caller.id, 0)
    return None


async def _wait(state: ServiceState, job_id: str, wait_s: float) -> bytes | None:
    result = await state.results.wait(job_id, wait_s) if wait_s > 0 else None
    return result.record if result is not None else None


async def is_lost(state: ServiceState, job_id: str) -> bool:
    """Return whether a job that was submitted is neither alive nor over."""
    # in this order: a job that ends in between has its result by then
    return await state.jobs.state(job_id) is None and await state.jobs.result(job_id) is None
