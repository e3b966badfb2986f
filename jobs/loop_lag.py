"""Measures how late an event loop is: everything that waits in the process waits as long."""

import asyncio
from typing import Final

from prometheus_client import Histogram

EVERY_S: Final = 0.1


async def measure_lag(lag: Histogram) -> None:
    """Observe, ten times a second until cancelled, how late this task wakes up in seconds."""
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        lag.observe(max(0.0, loop.time() - due_s))
