"""Equal requests that are under way here at the same time: one asks the store, all get its answer.

The store joins equal jobs anyway. This spares a thousand callers of one kernel a thousand round
trips and verified blobs. Nothing is kept: a flight is over when its answer is there.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace

from service.answer import Answer


class Flights:
    """The requests of this process that others may join."""

    def __init__(self) -> None:
        self._flying: dict[Hashable, asyncio.Future[Answer | None]] = {}

    async def share(
        self, request: Hashable, wait_s: float, ask: Callable[[float], Awaitable[Answer]]
    ) -> Answer:
        """Return the answer to `request`: of the flight that is under way, else of `ask(wait_s)`.

        A flight that fails or does not finish in time helps nobody: then everyone asks, with the
        seconds that are left. Raises what `ask` raises.
        """
        flying = self._flying.get(request)
        if flying is None:
            return await self._lead(request, ask(wait_s))
        deadline = time.monotonic() + wait_s
        await asyncio.wait([flying], timeout=wait_s)
        answer = flying.result() if flying.done() else None
        if answer is None or not answer.is_finished:
            return await ask(max(0.0, deadline - time.monotonic()))
        return answer

    async def _lead(self, request: Hashable, asking: Awaitable[Answer]) -> Answer:
        flying = asyncio.get_running_loop().create_future()
        self._flying[request] = flying
        answer = None
        try:
            answer = await asking
        finally:
            del self._flying[request]
            flying.set_result(answer and _for_others(answer))
        return answer


def _for_others(answer: Answer) -> Answer:
    return replace(answer, cache="join") if answer.cache == "miss" else answer
