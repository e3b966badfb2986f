"""Runs one task in a child, and again if the child was killed from outside.

That is no verdict on what ran in it: the kernel kills whom it likes when memory runs out, and a
zygote takes its children with it. Triton 3.6, forked, now and then dies in LLVM's thread pool.
"""

import logging
from collections.abc import Collection
from signal import SIGKILL
from typing import Any

from jobs.deadline import Deadline
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.child_process import MoreTime, OnStage
from worker.pool.pool import Pool
from worker.pool.session import ChildSession
from worker.pool.shared_bytes import Body, SharedParts
from worker.sandbox.profile import PROFILES

MAX_TRIES = 3
_FRAGILE = "3.6."  # mended in 3.7

logger = logging.getLogger(__name__)


async def run_task(
    pool: Pool | ChildSession,
    profile: str,
    header: dict[str, Any],
    body: Body | SharedParts,
    *,
    deadline_s: float,
    stages: Collection[str] = (),
    on_stage: OnStage | None = None,
    more_s: MoreTime | None = None,
    triton: str = "",
) -> ChildOutcome:
    """Return how a task ended as `Pool.run` does, which says what is raised.

    A child that was killed from outside is followed by another, `MAX_TRIES` of them at most and
    within the one deadline; a crash under a `triton` that is known for it by one more.
    """
    deadline, crashes = Deadline(deadline_s), 0
    for number in range(1, MAX_TRIES + 1):
        outcome = await pool.run(
            profile,
            header,
            body,
            deadline_s=deadline.left_s,
            stages=stages,
            on_stage=on_stage,
            more_s=more_s,
        )
        crashes += outcome.ending is Ending.SIGNAL
        is_fragile = crashes == 1 and triton.startswith(_FRAGILE)
        harmed = killed_from_outside(outcome, profile)
        if number == MAX_TRIES or not (harmed or (is_fragile and outcome.ending is Ending.SIGNAL)):
            break
        logger.warning("a %s child died (%s); retrying in another", profile, outcome.detail)
    return outcome


def killed_from_outside(outcome: ChildOutcome, profile: str) -> bool:
    """Return True if neither the child itself nor this process ended it.

    A process that has used up its CPU time dies by the same signal, which is its own doing.
    """
    if outcome.ending is not Ending.SIGNAL:
        return False
    if outcome.signal is None:
        return outcome.exit_status is None  # its zygote died
    used_s = outcome.usage.cpu_s if outcome.usage is not None else 0.0
    return outcome.signal == SIGKILL and used_s < PROFILES[profile].limits.cpu_s - 1
