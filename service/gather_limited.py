"""Concurrent work on many items with a limit."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from store.round_trips import shared_round_trips

Item = TypeVar("Item")
Made = TypeVar("Made")


async def gather_limited(
    most: int, items: Iterable[Item], make: Callable[[Item], Awaitable[Made]]
) -> list[Made]:
    """Return the results of `make` for all items, at most `most` at a time, in order.

    Commands that items send to the store at the same time share round trips. Raises the first
    error of `make`, after cancelling the rest.
    """
    waiting = enumerate(items)
    made: dict[int, Made] = {}

    async def some() -> None:
        for index, item in waiting:
            made[index] = await make(item)

    try:
        with shared_round_trips():
            async with asyncio.TaskGroup() as group:
                for _ in range(most):
                    group.create_task(some())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [made[index] for index in sorted(made)]
