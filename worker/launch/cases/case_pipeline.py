"""Has the cases of one launch overlap, and hands their results on in order.

While one is on the GPU the next is prepared and the one before compared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from launch.request.case import Case
from launch.request.launch_record import CaseResult

RunCase = Callable[[Case], Awaitable[CaseResult]]
Report = Callable[[CaseResult], Awaitable[None]]


async def run_cases(
    cases: Sequence[Case],
    run: RunCase,
    report: Report,
    *,
    gather_limited: int,
    stop_after: int | None,
) -> list[CaseResult]:
    """Return the results of `cases`, `gather_limited` of them under way at most.

    Results are sent in order. After `stop_after` failures the remaining cases are skipped.
    Raises what `run` raises; whatever else is under way is cancelled then.
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
            if stop_after is not None and sum(one.failed for one in results) >= stop_after:
                break
        return results
    finally:
        for task in under_way.values():
            task.cancel()
        await asyncio.gather(*under_way.values(), return_exceptions=True)
