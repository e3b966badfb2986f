"""A pool of children that starts on first use: for tasks that many workers never get."""

import asyncio
from collections.abc import Callable

from worker.pool.pool import Pool


class LazyPool:
    """A pool of children that starts on first use."""

    def __init__(self, make: Callable[[], Pool]) -> None:
        self._make = make
        self._pool: Pool | None = None
        self._starting = asyncio.Lock()

    async def started(self) -> Pool:
        """Return the pool, its zygote warm. Raises ZygoteError."""
        async with self._starting:
            if self._pool is None:
                pool = self._make()
                await pool.start()
                self._pool = pool
        return self._pool

    async def close(self) -> None:
        """End its children, if there are any. The next `started` starts them again."""
        async with self._starting:
            pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()
