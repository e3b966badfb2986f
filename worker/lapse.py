"""Ending jobs that no worker will do, whatever their kind, with a record that says why."""

import logging

from pydantic import ValidationError

from compiler.toolchain import Toolchain
from store.jobs.attempts import Attempts
from store.jobs.words import Claim
from store.lanes import DERIVE, INSPECT, LAUNCH
from worker.compile_job import end_lapsed
from worker.derive_job import end_lapsed_derivation
from worker.inspect_job import end_lapsed_inspection
from worker.launch.launch_job import end_lapsed_launch

logger = logging.getLogger(__name__)


async def end(claim: Claim, attempts: Attempts, toolchain: Toolchain | None) -> None:
    """Finish the lapsed job of `claim`."""
    try:
        if claim.lane.startswith(LAUNCH):
            await end_lapsed_launch(claim, attempts)
        elif claim.lane.startswith(INSPECT):
            await end_lapsed_inspection(claim, attempts)
        elif claim.lane.startswith(DERIVE):
            await end_lapsed_derivation(claim, attempts)
        else:
            await end_lapsed(claim, attempts, toolchain)
    except ValidationError:
        # written by another version: its own workers know how to end it
        logger.exception("job %s cannot be read here", claim.id)
