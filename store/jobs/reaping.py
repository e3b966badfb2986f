"""Ending what nobody else will end, for everybody: any process may offer to, one of them does.

Services and workers run it, so that a job ends even where no worker is left. What is written about
such a job is the caller's knowledge.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from store.errors import StoreUnavailable
from store.jobs.attempts import Attempts
from store.jobs.words import KEPT_S, Claim
from store.lanes import LAUNCH
from store.launches import LIFE_S

REAP_S: Final = 1.0

logger = logging.getLogger(__name__)


async def reap_for_all(attempts: Attempts, record_of: Callable[[Claim], bytes]) -> None:
    """Offer to reap until cancelled; `record_of` says how a job ended that nobody did."""
    while True:
        try:
            claims = await attempts.reap()
            for claim in claims or ():
                await _end(claim, attempts, record_of(claim))
        except StoreUnavailable as error:
            claims = None
            logger.warning("nothing is reaped: %s", error)
        # another process reaps: enough to see each term whether it is still there
        await asyncio.sleep(REAP_S if claims is not None else max(REAP_S, attempts.term_ms / 1000))


async def _end(claim: Claim, attempts: Attempts, record: bytes) -> None:
    # a launch is kept as one that ran: who posts it again with its key shall get it
    is_launch = claim.lane.startswith(LAUNCH)
    keep_s = LIFE_S if is_launch else KEPT_S
    await attempts.finish(claim.id, claim.token, record, reusable=is_launch, keep_s=keep_s)
    logger.info("job %s ended: %s", claim.id, claim.lapse)
