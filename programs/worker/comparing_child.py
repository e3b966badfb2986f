"""The child that compares what programs returned: it runs no user code and parses nothing.

Many bytes are shared with it, and not copied.
"""

from collections.abc import Sequence

from compiler.messages.wire import header_of
from launch.messages import CompareOrder, Place
from worker.compile.reports import Malformed, read_report
from worker.launch.comparison import COMPARE_DEADLINE_S, NotCompared, body_of
from worker.launch.launch_reports import CompareReport
from worker.pool.pool import Pool
from worker.pool.retry import run_task
from worker.pool.shared_bytes import Body


class Bodies:
    """Parts of an order's body, one behind the other."""

    def __init__(self) -> None:
        self.parts: list[Body] = []
        self._size = 0

    def add(self, part: Body) -> Place:
        """Append a part; return where it lies."""
        place = (self._size, len(part))
        self.parts.append(part)
        self._size += len(part)
        return place


async def compare_outputs(pool: Pool, order: CompareOrder, parts: Sequence[Body]) -> CompareReport:
    """Have the outputs of `order` compared, whose elements are `parts`. Raises NotCompared."""
    header, limit_s = header_of(order), COMPARE_DEADLINE_S
    async with body_of(parts) as body:
        outcome = await run_task(pool, order.profile, header, body, deadline_s=limit_s)
    if outcome.result is None:
        reason = outcome.detail or (outcome.failure or {}).get("message", "")
        raise NotCompared(f"The outputs were not compared ({reason}).")
    try:
        return read_report(CompareReport, outcome.result)
    except Malformed as error:
        raise NotCompared(f"The comparison cannot be read: {error}") from error
