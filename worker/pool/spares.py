"""The children that wait for jobs: how many there are, and which is next."""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

from jobs.backoff import Backoff
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.child_process import ChildProcess
from worker.pool.idle_time import IdleTime

_A_MOMENT_S = 0.03
"""In which the answer to a job may follow that needs no child."""
_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 5.0


class OrderChild(Protocol):
    """Orders a child of a profile, that maps the files behind descriptors if some are given."""

    def __call__(self, profile: str, shared: Sequence[int] = ()) -> ChildProcess:
        """Return the child, which may be given its job at once."""


_log = logging.getLogger(__name__)


class Spares:
    """Waiting children by profile.

    A caller that takes one gets a child without a job, and returns only children worth keeping.
    """

    def __init__(self, wanted: Mapping[str, int], order: OrderChild, idle: IdleTime) -> None:
        self._wanted = wanted
        self._order = order
        self._idle = idle
        self._waiting: dict[str, list[ChildProcess]] = {profile: [] for profile in wanted}
        self._lent: Counter[str] = Counter()
        """The number of lent children by profile, which will be given back."""
        self._loop = asyncio.get_running_loop()
        self._backoff = Backoff(_FIRST_PAUSE_S, _MAX_PAUSE_S)
        self._processors = len(os.sched_getaffinity(0))
        self._closed = False
        idle.join(self._next_to_prepare)

    def take(self, profile: str, *, keep: bool = False, fresh: bool = True) -> ChildProcess:
        """Return the child that can begin soonest, or a newly ordered one.

        A job runs from now on. With `keep` it will be given back; unless `fresh`, it may be one
        that was.
        """
        self.count_job()
        self._lent[profile] += keep
        waiting = self._waiting.get(profile, [])
        living = [child for child in waiting if not child.outcome.done()]
        usable = [child for child in living if not (fresh and child.use.jobs)]
        if not usable:
            return self._order(profile)
        best = max(usable, key=lambda child: (child.readiness, child.use.jobs))
        waiting.remove(best)
        return best

    def take_with(self, profile: str, shared: Sequence[int]) -> ChildProcess:
        """Return a newly ordered child that maps the files behind `shared`: no waiting one does."""
        self.count_job()
        return self._order(profile, shared)

    def count_job(self) -> None:
        """Count a job that begins, in a child from here or in one that a session holds."""
        self._idle.begin_job()

    def give_back(self, child: ChildProcess) -> bool:
        """Let a child whose job ended well wait for others of its kind; return whether it may."""
        waiting = self._waiting.get(child.profile, [])
        is_wanted = len(waiting) < self._wanted.get(child.profile, 0) and not self._closed
        usage = child.outcome.result().usage
        if not is_wanted or child.use.is_enough(self._loop.time(), usage):
            return False
        child.renew()
        self._wait(child)
        return True

    def start_job(self, profile: str) -> None:
        """Replace the child that was just taken, if a processor is free for that."""
        if self._idle.jobs < self._processors - 1:
            self.refill(profile)

    def end_job(self, profile: str, *, keep: bool, well: bool) -> None:
        """Count one job less."""
        self._idle.end_job()
        self._lent[profile] -= keep
        if well:
            self._backoff.reset()
        if self._waiting.get(profile):
            # a fork takes as long as all that may follow, such as an answer from the cache
            self._loop.call_later(_A_MOMENT_S, self.refill, profile)
        else:
            self.refill(profile)

    def refill(self, profile: str) -> None:
        """Order children of this profile until as many wait as are wanted."""
        waiting = self._waiting.get(profile, [])
        wanted = self._wanted.get(profile, 0) - self._lent[profile]
        while not self._closed and len(waiting) < wanted:
            self._wait(self._order(profile))
        self._idle.prepare_soon()

    def _wait(self, child: ChildProcess) -> None:
        self._waiting[child.profile].append(child)
        child.outcome.add_done_callback(partial(self._replace, child))

    def close(self) -> None:
        """Forget all; nothing is ordered any more."""
        self._closed = True
        self._idle.leave(self._next_to_prepare)
        self._waiting.clear()

    def _replace(self, child: ChildProcess, outcome: asyncio.Future[ChildOutcome]) -> None:
        """Replace a child that ended before it had a job, each time later."""
        waiting = self._waiting.get(child.profile, [])
        self._idle.forget(child)
        if child not in waiting:
            return
        waiting.remove(child)
        _log.warning("a waiting %s child ended: %s", child.profile, outcome.result().detail)
        self._loop.call_later(self._backoff.next_s(), self.refill, child.profile)

    def _next_to_prepare(self) -> ChildProcess | None:
        waiting = [child for children in self._waiting.values() for child in children]
        return next((child for child in waiting if child.readiness == 1), None)


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
            _end_session(child)
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
            _end_session(child)


def _end_session(child: ChildProcess) -> None:
    child.kill(Ending.SIGNAL, "its session is over")
