"""Jobs that the store loses while somebody waits: they are submitted again from what was posted.

A failover loses what the replica had not heard of yet. Nobody else knows that the job ever was.
"""

import time
from collections.abc import Awaitable, Callable

from service.shared import Shared
from store.errors import JobLost
from store.jobs.words import Outcome, Submitted

MAX_LOSSES = 3
CACHE_STATUS = {Outcome.HIT: "hit", Outcome.JOIN: "collapsed", Outcome.MISS: "fwd=miss"}
"""How the outcome of a submit is called in the header Cache-Status."""


async def submit_and_wait(
    shared: Shared, job_id: str, submit: Callable[[], Awaitable[Submitted]], wait_s: float
) -> tuple[Submitted, bytes | None]:
    """Return what became of the submit, and the record if there is one within `wait_s`.

    Raises what `submit` raises, and JobLost when the store loses the job again and again.
    """
    deadline = time.monotonic() + wait_s
    for _ in range(MAX_LOSSES):
        submitted = await submit()
        if submitted.outcome is Outcome.HIT:
            return submitted, submitted.record
        try:
            record = await _wait(shared, job_id, deadline - time.monotonic())
        except JobLost:
            continue
        return submitted, record
    raise JobLost(job_id)


async def _wait(shared: Shared, job_id: str, wait_s: float) -> bytes | None:
    result = await shared.finished.wait(job_id, wait_s) if wait_s > 0 else None
    if result is None and await is_lost(shared, job_id):
        raise JobLost(job_id)
    return result.record if result is not None else None


async def is_lost(shared: Shared, job_id: str) -> bool:
    """Return whether a job that was submitted is neither alive nor over."""
    # in this order: a job that ends in between has its result by then
    return await shared.jobs.state(job_id) is None and await shared.jobs.result(job_id) is None
