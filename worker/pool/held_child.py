"""The one child that a session holds between two of its jobs."""

import asyncio

from worker.pool.child_outcome import Ending
from worker.pool.child_process import ChildProcess


class HeldChild:
    """The child that did the last job of a session, if it may do the next one."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None
        self._closed = False

    def take(self, profile: str) -> ChildProcess | None:
        """Return it; None where the next job needs another."""
        child, self._child = self._child, None
        if child is None or child.outcome.done():
            return None
        if child.profile != profile:
            _end(child)
            return None
        return child

    def give_back(self, child: ChildProcess) -> bool:
        """Hold a child whose job ended well; return whether it is held."""
        usage = child.outcome.result().usage
        if self._closed or self._child is not None:
            return False
        if child.use.is_enough(asyncio.get_running_loop().time(), usage):
            return False
        child.renew()
        self._child = child
        return True

    def let_go(self) -> None:
        """End the child; a job that still runs in one is its last."""
        self._closed = True
        child, self._child = self._child, None
        if child is not None:
            _end(child)


def _end(child: ChildProcess) -> None:
    child.kill(Ending.SIGNAL, "its session is over")
