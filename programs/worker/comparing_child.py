"""Has a child compare outputs of programs. The child runs no user code and parses nothing.

Large bodies are shared with it instead of copied.
"""

from collections.abc import Sequence

from compiler.messages.wire import header_of
from launch.messages import BodyRange, CompareOrder
from worker.compile.reports import Malformed, read_report
from worker.launch.comparison import COMPARE_DEADLINE_S, NotCompared
from worker.launch.large_body import body_of
from worker.launch.launch_reports import CompareReport
from worker.pool.pool import Pool
from worker.pool.retry import run_task
from worker.pool.shared_bytes import Body


class BodyParts:
    """The parts of an order's body, concatenated."""

    def __init__(self) -> None:
        self.parts: list[Body] = []
        self._size = 0

    def add(self, part: Body) -> BodyRange:
        """Append a part; return its offset and size in bytes."""
        place = (self._size, len(part))
        self.parts.append(part)
        self._size += len(part)
        return place


async def compare_outputs(pool: Pool, order: CompareOrder, parts: Sequence[Body]) -> CompareReport:
    """Compare the elements in `parts` in a child, as `order` says. Raises NotCompared."""
    header, limit_s = header_of(order), COMPARE_DEADLINE_S
    async with body_of(parts) as body:
        outcome = await run_task(pool, order.profile, header, body, deadline_s=limit_s)
    if outcome.result is None:
        reason = outcome.detail or (outcome.failure or {}).get("message", "")
        raise NotCompared(f"The outputs could not be compared ({reason}). Post the program again.")
    try:
        return read_report(CompareReport, outcome.result)
    except Malformed as error:
        raise NotCompared(f"The result of the comparison is invalid: {error}") from error
