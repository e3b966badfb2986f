"""Lets waiting children prepare while no child of the worker has a job.

Preparing costs CPU time that jobs could use, those of other pools on the same processors too, so
pools share one of these. Never do two children prepare at once.
"""

import asyncio
from collections.abc import Callable

from worker.pool.child_process import ChildProcess

_QUIET_S = 0.03
"""The idle time after which waiting children prepare."""

NextChild = Callable[[], ChildProcess | None]
"""Returns a waiting child that did not prepare yet, if there is one."""


class IdleTime:
    """Counts the jobs of all pools that share it; while there are none, their children prepare."""

    def __init__(self) -> None:
        self._jobs = 0
        self._pools: list[NextChild] = []
        self._preparing: ChildProcess | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def jobs(self) -> int:
        """The number of running jobs."""
        return self._jobs

    def join(self, next_child: NextChild) -> None:
        """Let a pool's children prepare, too."""
        self._pools.append(next_child)

    def leave(self, next_child: NextChild) -> None:
        """Stop preparing children of that pool: it is closed."""
        if next_child in self._pools:
            self._pools.remove(next_child)
        if not self._pools:
            self._cancel_timer()

    def begin_job(self) -> None:
        """Count a job that begins."""
        self._jobs += 1
        self._cancel_timer()

    def end_job(self) -> None:
        """Count a job that ended."""
        self._jobs -= 1
        self.prepare_soon()

    def prepare_soon(self) -> None:
        """Let children prepare in a moment, if no job begins until then."""
        if self._jobs == 0 and self._timer is None and self._pools:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_QUIET_S, self._prepare_one)

    def forget(self, child: ChildProcess) -> None:
        """Wait for this child no longer: it ended."""
        if self._preparing is child:
            self._preparing = None

    def _prepare_one(self) -> None:
        self._timer = None
        if self._jobs or self._preparing is not None:
            return
        children = (next_child() for next_child in self._pools)
        self._preparing = next((child for child in children if child is not None), None)
        if self._preparing is not None:
            self._preparing.prewarm(self._prepare_next)

    def _prepare_next(self) -> None:
        self._preparing = None
        asyncio.get_running_loop().call_soon(self._prepare_one)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
