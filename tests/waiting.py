"""Waiting for what is to become true: tests wait for a condition, never for a time.

The limits are generous, as they only end what has failed.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

LIMIT_S = 120.0
_PAUSE_S = 0.02

T = TypeVar("T")


def wait_until(
    is_so: Callable[[], T], what: str, explain: Callable[[], str] = str, within_s: float = LIMIT_S
) -> T:
    """Return what `is_so` returns once that is true; else fail with `what` and `explain()`."""
    until = time.monotonic() + within_s
    while not (found := is_so()):
        assert time.monotonic() < until, f"not within {within_s:g} s: {what}\n{explain()}"
        time.sleep(_PAUSE_S)
    return found


async def comes_true(is_so: Callable[[], T | Awaitable[T]], within_s: float = LIMIT_S) -> T:
    """Return what `is_so` returns, or what its coroutine does, once that is true."""
    async with asyncio.timeout(within_s):
        while not (found := await _value(is_so())):
            await asyncio.sleep(_PAUSE_S)
    return found


async def _value(found: T | Awaitable[T]) -> T:
    return await found if inspect.isawaitable(found) else found
