"""Waiting that a cancelled caller does not cut short."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def run_to_end(work: Coroutine[Any, Any, Result]) -> Result:
    """Do short `work` to its end, however often the caller is cancelled meanwhile.

    Only then is CancelledError raised. asyncio alone cuts off a task that is cancelled once more
    while it cleans up: a process would run on that was being started or ended.
    """
    under_way, cancelled = asyncio.ensure_future(work), None
    while not under_way.done():
        try:
            await asyncio.wait([under_way])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None and not under_way.exception():
        raise cancelled
    return under_way.result()
