"""The children that wait for jobs.

How many, which one goes next, and when they may use idle time to prepare.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial

from worker.outcome import Outcome
from worker.process import ChildProcess

_QUIET_S = 0.03
"""How long no job must have run before waiting children prepare.

Preparing costs CPU time that jobs could use.
"""
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0

_log = logging.getLogger(__name__)


class Spares:
    """Waiting children by profile.

    Whoever takes one gets a child that has no job yet and is never given back.
    """

    def __init__(self, wanted: Mapping[str, int], order: Callable[[str], ChildProcess]) -> None:
        self._wanted = wanted
        self._order = order
        self._waiting: dict[str, list[ChildProcess]] = {profile: [] for profile in wanted}
        self._loop = asyncio.get_running_loop()
        self._pause_s = _FIRST_PAUSE_S
        self._processors = len(os.sched_getaffinity(0))
        self._running = 0
        self._preparing: ChildProcess | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def take(self, profile: str) -> ChildProcess:
        """Return the child that would be quickest to begin, or a newly ordered one.

        A job runs from now on.
        """
        self._running += 1
        self._cancel_timer()
        waiting = self._waiting.get(profile, [])
        living = [child for child in waiting if not child.outcome.done()]
        if not living:
            return self._order(profile)
        best = max(living, key=lambda child: child.eagerness)
        waiting.remove(best)
        return best

    def job_started(self, profile: str) -> None:
        """Replace the child that was taken now, if that keeps no job from a processor."""
        if self._running < self._processors - 1:
            self.refill(profile)

    def job_ended(self, profile: str, *, well: bool) -> None:
        """Count one job less; when none is left, waiting children prepare a moment later."""
        self._running -= 1
        if well:
            self._pause_s = _FIRST_PAUSE_S
        if self._waiting.get(profile):
            # a fork takes as long as all that may follow, such as an answer from the cache
            self._loop.call_later(_QUIET_S, self.refill, profile)
        else:
            self.refill(profile)

    def refill(self, profile: str) -> None:
        """Order children of this profile until as many wait as are wanted."""
        waiting = self._waiting.get(profile, [])
        while not self._closed and len(waiting) < self._wanted.get(profile, 0):
            child = self._order(profile)
            waiting.append(child)
            child.outcome.add_done_callback(partial(self._ended, child))
        self._prepare_soon()

    def close(self) -> None:
        """Forget all; nothing is ordered any more."""
        self._closed = True
        self._cancel_timer()
        self._waiting.clear()

    def _ended(self, child: ChildProcess, outcome: asyncio.Future[Outcome]) -> None:
        """Replace a child that ended before it had a job, each time later."""
        waiting = self._waiting.get(child.profile, [])
        if self._preparing is child:
            self._preparing = None
        if child not in waiting:
            return
        waiting.remove(child)
        _log.warning("a waiting %s child ended: %s", child.profile, outcome.result().detail)
        self._loop.call_later(self._pause_s, self.refill, child.profile)
        self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)

    def _prepare_soon(self) -> None:
        if self._running == 0 and self._timer is None and not self._closed:
            self._timer = self._loop.call_later(_QUIET_S, self._prepare_one)

    def _prepare_one(self) -> None:
        """Let one child prepare, then the next: never two at once, never beside a job."""
        self._timer = None
        if self._running or self._preparing is not None:
            return
        waiting = [child for children in self._waiting.values() for child in children]
        self._preparing = next((child for child in waiting if child.eagerness == 1), None)
        if self._preparing is not None:
            self._preparing.touch(self._prepared)

    def _prepared(self) -> None:
        self._preparing = None
        self._loop.call_soon(self._prepare_one)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
