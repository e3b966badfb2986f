"""Waits for a condition: tests wait for a condition, never for a time.

The limits are generous, since only failures reach them.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

LIMIT_S = 120.0
_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.002, 0.1
_SHARE = 0.1
"""As a share of the time waited so far: long waits poll less often."""

T = TypeVar("T")


def wait_until(
    is_so: Callable[[], T], what: str, explain: Callable[[], str] = str, within_s: float = LIMIT_S
) -> T:
    """Return the result of `is_so` once it is true; else fail with `what` and `explain()`."""
    started = time.monotonic()
    while not (found := is_so()):
        waited_s = time.monotonic() - started
        assert waited_s < within_s, f"not within {within_s:g} s: {what}\n{explain()}"
        time.sleep(_pause_s(waited_s))
    return found


async def comes_true(is_so: Callable[[], T | Awaitable[T]], within_s: float = LIMIT_S) -> T:
    """Return the result of `is_so`, or of its coroutine, once it is true."""
    started = time.monotonic()
    async with asyncio.timeout(within_s):
        while not (found := await _value(is_so())):
            await asyncio.sleep(_pause_s(time.monotonic() - started))
    return found


def _pause_s(waited_s: float) -> float:
    return min(max(_SHARE * waited_s, _FIRST_PAUSE_S), _MAX_PAUSE_S)


async def _value(found: T | Awaitable[T]) -> T:
    return await found if inspect.isawaitable(found) else found
