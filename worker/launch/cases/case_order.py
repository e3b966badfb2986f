"""Has the cases of one launch overlap; a step that must happen in their order waits for it here."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from launch.request.case import Case
from launch.request.launch_record import CaseResult

_RunCase = Callable[[Case], Awaitable[CaseResult]]
_Report = Callable[[CaseResult], Awaitable[None]]


class InOrder:
    """A step that cases take one after the other, each at its index."""

    def __init__(self) -> None:
        self._next = 0
        self._passed: set[int] = set()
        self._waiting: dict[int, asyncio.Future[None]] = {}

    async def reach(self, index: int) -> None:
        """Return when all cases before `index` have passed."""
        if index > self._next:
            waiter = self._waiting[index] = asyncio.get_running_loop().create_future()
            await waiter

    def leave(self, index: int) -> None:
        """Let the next case take the step; once or more often."""
        if index < self._next:
            return
        self._passed.add(index)
        while self._next in self._passed:
            self._passed.remove(self._next)
            self._next += 1
        waiter = self._waiting.pop(self._next, None)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


class CaseOrder:
    """The order of the cases of one launch, which ends after `limit` cases that are not good.

    No case begins to run that would not have been run one after the other: it waits while those
    before it could still come to the limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.memory, self.returned, self.stored = InOrder(), InOrder(), InOrder()
        """When memory is asked for, when it is decided what is answered, when it is stored."""
        self._limit = limit
        self._judged: dict[int, bool] = {}
        self._changed = asyncio.Event()

    async def may_run(self, index: int) -> None:
        """Return when case `index` is to be run for certain; never, if it is not."""
        while self._limit is not None and not self._is_certain(index, self._limit):
            self._changed.clear()
            await self._changed.wait()

    def _is_certain(self, index: int, limit: int) -> bool:
        earlier: Sequence[bool | None] = [self._judged.get(before) for before in range(index)]
        return sum(failed is not False for failed in earlier) < limit

    def end(self, index: int, *, failed: bool) -> None:
        """Note that a case has a result, and takes no step any more."""
        self._judged[index] = failed
        self._changed.set()
        self.leave(index)

    def leave(self, index: int) -> None:
        """Note that a case takes no step any more: those after it may."""
        for step in (self.memory, self.returned, self.stored):
            step.leave(index)


# Has the cases of one launch overlap, and hands their results on in order.
#
# While one is on the GPU the next is prepared and the one before compared.


async def run_cases(
    cases: Sequence[Case],
    run: _RunCase,
    report: _Report,
    *,
    gather_limited: int,
    stop_after: int | None,
) -> list[CaseResult]:
    """Return the results of `cases`, at most `gather_limited` of them running.

    Results are sent in order. After `stop_after` failures the remaining cases are skipped.
    Raises what `run` raises; whatever else is running is cancelled then.
    """
    under_way: dict[int, asyncio.Task[CaseResult]] = {}
    results: list[CaseResult] = []
    try:
        for number in range(len(cases)):
            for later in range(number, min(number + gather_limited, len(cases))):
                if later not in under_way:
                    under_way[later] = asyncio.ensure_future(run(cases[later]))
            results.append(await under_way[number])
            await report(results[-1])
            if stop_after is not None and sum(result.failed for result in results) >= stop_after:
                break
        return results
    finally:
        for task in under_way.values():
            task.cancel()
        await asyncio.gather(*under_way.values(), return_exceptions=True)
