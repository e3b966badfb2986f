"""Jobs that the store loses while somebody waits: they are submitted again from what was posted.

A failover loses what the replica had not heard of yet. Nobody else knows that the job ever was.

Waiting for a compilation: a request that waits keeps the work alive, whoever else withdraws.

Its interest ends with it. Who hangs up is noticed within moments; who is answered before there is
a result is expected to ask again, and so keeps the standing interest of its API key.
"""

import secrets
import time
from collections.abc import Awaitable, Callable

from compiler.compilation import cancelled_compilation
from compiler.job import CompileJob
from compiler.toolchain import Toolchain
from service.caller import Caller
from service.state import ServiceState
from store.errors import JobLost
from store.jobs.types import SubmitOutcome, Submitted, Waiting

IsGone = Callable[[], Awaitable[bool]]
LOOK_S = 2.0
"""How often it is looked whether a client that waits is still there."""


def waiting_for(wait_s: float) -> Waiting | None:
    """Return the interest of a request that may wait so long, None for one that does not wait."""
    return Waiting(secrets.token_hex(8), int(wait_s * 1000)) if wait_s else None


async def attended(
    shared: ServiceState,
    job: CompileJob,
    toolchain: Toolchain | None,
    caller: Caller,
    waiting: Waiting,
    is_gone: IsGone,
) -> bytes | None:
    """Return the record of `job`, which `waiting` was noted for.

    None when it took too long, or this process stops. Raises JobLost when the store has lost it.
    """
    end = time.monotonic() + waiting.wait_ms / 1000
    while (left_s := end - time.monotonic()) > 0 and not shared.finished.closed:
        result = await shared.finished.wait(job.key, min(left_s, LOOK_S))
        if result is not None:
            return result.record
        if await is_gone():
            record = cancelled_compilation(job, toolchain).model_dump_json().encode()
            await shared.jobs.withdraw(job.key, waiting.interest, record)
            return None
    await shared.jobs.stand(job.key, waiting, caller.id, 0)
    return None


MAX_LOSSES = 3
CACHE_STATUS = {
    SubmitOutcome.HIT: "hit",
    SubmitOutcome.JOIN: "collapsed",
    SubmitOutcome.MISS: "fwd=miss",
}
"""How the outcome of a submit is called in the header Cache-Status."""


async def submit_and_wait(
    shared: ServiceState, job_id: str, submit: Callable[[], Awaitable[Submitted]], wait_s: float
) -> tuple[Submitted, bytes | None]:
    """Return what became of the submit, and the record if there is one within `wait_s`.

    Raises what `submit` raises, and JobLost when the store loses the job again and again.
    """
    deadline = time.monotonic() + wait_s
    for _ in range(MAX_LOSSES):
        submitted = await submit()
        if submitted.outcome is SubmitOutcome.HIT:
            return submitted, submitted.record
        try:
            record = await _wait(shared, job_id, deadline - time.monotonic())
        except JobLost:
            continue
        return submitted, record
    raise JobLost(job_id)


async def _wait(shared: ServiceState, job_id: str, wait_s: float) -> bytes | None:
    result = await shared.finished.wait(job_id, wait_s) if wait_s > 0 else None
    if result is None and await is_lost(shared, job_id):
        raise JobLost(job_id)
    return result.record if result is not None else None


async def is_lost(shared: ServiceState, job_id: str) -> bool:
    """Return whether a job that was submitted is neither alive nor over."""
    # in this order: a job that ends in between has its result by then
    return await shared.jobs.state(job_id) is None and await shared.jobs.result(job_id) is None
