"""Work on many things, so many of them at a time: one loop for all that asks the store or waits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


async def gather_limited(
    most: int, items: Iterable[Item], make: Callable[[Item], Awaitable[Made]]
) -> list[Made]:
    """Return what `make` makes of each item, `most` at a time, begun and returned in order.

    Raises what the first that fails raises; the others are cancelled then.
    """
    waiting = enumerate(items)
    made: dict[int, Made] = {}

    async def some() -> None:
        for index, item in waiting:
            made[index] = await make(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(most):
                group.create_task(some())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [made[index] for index in sorted(made)]
