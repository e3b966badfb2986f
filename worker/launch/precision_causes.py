"""Has a child read why kernels may be less precise than their data.

MLIR parses their TTIR there, and it is hostile: the child that compares never does, and this one
sees no outputs. A child that runs a kernel on the CPU device has read its IR, and reports the same.
"""

import logging
from collections.abc import Sequence

from compiler.messages.wire import header_of
from launch.messages import Cause, CausesOrder
from worker.compile.reports import Malformed
from worker.launch.launch_reports import read_causes_report
from worker.pool.pool import Pool

MAX_TEXT_BYTES = 4 << 20
"""The largest text that is searched."""
CAUSES_DEADLINE_S = 60.0
_SIGNS = (b"f16", b"f8E", b"f64", b"tf32")
"""A text without any of these keeps every float in fp32."""
logger = logging.getLogger(__name__)


def questionable(ir: bytes) -> bytes:
    """Return `ir` if it may contain causes, b"" if it cannot.

    The worker's own process does only this quick check with the text.
    """
    if len(ir) > MAX_TEXT_BYTES or not any(sign in ir for sign in _SIGNS):
        return b""
    return ir


async def causes_of(pool: Pool, irs: Sequence[bytes]) -> list[Cause]:
    """Return the causes in TTIRs, the most severe first.

    None where a child cannot report them: then no precision is remarked on.
    """
    texts = [text for text in irs if text]
    if not texts:
        return []
    order = CausesOrder(sizes_bytes=[len(text) for text in texts])
    body = b"".join(texts)
    outcome = await pool.run(order.profile, header_of(order), body, deadline_s=CAUSES_DEADLINE_S)
    if outcome.result is None:
        logger.warning("why kernels may be imprecise is not known: %s", outcome.detail)
        return []
    try:
        return read_causes_report(outcome.result).causes
    except Malformed as error:
        logger.warning("why kernels may be imprecise is not known: %s", error)
        return []
