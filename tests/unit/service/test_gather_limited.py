"""Limited concurrency of many tasks."""

from __future__ import annotations

import asyncio

import pytest

from service.gather_limited import gather_limited


async def test_no_more_than_so_many_are_worked_on_at_a_time() -> None:
    under_way: set[int] = set()
    most = 0

    async def make(item: int) -> int:
        nonlocal most
        under_way.add(item)
        most = max(most, len(under_way))
        await asyncio.sleep(0)
        under_way.discard(item)
        return 2 * item

    assert await gather_limited(3, range(20), make) == [2 * item for item in range(20)]
    assert most == 3


async def test_the_first_that_fails_is_reported_and_the_others_are_given_up() -> None:
    given_up = []

    async def make(item: int) -> None:
        if item == 1:
            raise ValueError("the second")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            given_up.append(item)
            raise

    with pytest.raises(ValueError, match="the second"):
        await gather_limited(2, range(9), make)
    assert given_up == [0]


async def test_nothing_is_made_of_nothing() -> None:
    async def make(item: int) -> int:
        return item

    assert await gather_limited(4, [], make) == []
