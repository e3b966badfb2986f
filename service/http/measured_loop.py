"""A loop of uvloop whose steps are measured.

Calls of uvloop cannot be replaced, so what it is asked to call is.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import uvloop

from jobs.loop_steps import LoopSteps


class MeasuredLoop(uvloop.Loop):
    """Measures what tasks, timers and threads ask it to call, and what its servers receive."""

    def __init__(self, steps: LoopSteps) -> None:
        super().__init__()
        self._measured = steps.measured

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, **options: Any
    ) -> asyncio.Handle:
        """Call `callback` in the next round."""
        return super().call_soon(self._measured, callback, *args, **options)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, **options: Any
    ) -> asyncio.Handle:
        """Call `callback` in the next round; any thread may ask."""
        return super().call_soon_threadsafe(self._measured, callback, *args, **options)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, **options: Any
    ) -> asyncio.TimerHandle:
        """Call `callback` after `delay` seconds."""
        return super().call_later(delay, self._measured, callback, *args, **options)

    async def create_server(
        self, protocol_factory: Callable[[], Any], *args: Any, **options: Any
    ) -> Any:
        """Start a server."""

        def measured_protocol() -> Any:
            protocol = protocol_factory()
            receive = protocol.data_received
            protocol.data_received = lambda data: self._measured(receive, data)
            return protocol

        return await super().create_server(measured_protocol, *args, **options)
