"""Waiting for a compilation: a request that waits keeps the work alive, whoever else withdraws.

Its interest ends with it. Who hangs up is noticed within moments; who is answered before there is
a result is expected to ask again, and so keeps the standing interest of its API key.
"""

import secrets
import time
from collections.abc import Awaitable, Callable

from compiler.job import CompileJob
from compiler.record import cancelled_compilation
from compiler.toolchain import Toolchain
from service.caller import Caller
from service.shared import Shared
from store.jobs.words import Waiting

IsGone = Callable[[], Awaitable[bool]]
LOOK_S = 2.0
"""How often it is looked whether a client that waits is still there."""


def waiting_for(wait_s: float) -> Waiting | None:
    """Return the interest of a request that may wait so long, None for one that does not wait."""
    return Waiting(secrets.token_hex(8), int(wait_s * 1000)) if wait_s else None


async def attended(
    shared: Shared,
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
