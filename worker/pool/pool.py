"""A pool of sandboxed children: each job gets one, and the pool reports how it ended.

They are single-use, except for tasks that run no user code. Runs in the worker, which never imports
triton: the zygote does.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from signal import SIGKILL
from typing import Any

from jobs.backoff import Backoff
from jobs.deadline import Deadline
from jobs.work_context import job_id
from worker import PIPELINE, job_account
from worker.pool.child_outcome import (
    KEPT_TASKS,
    REUSED_CHILD_LIMIT_S,
    Caps,
    ChildOutcome,
    Ending,
    ended_well,
)
from worker.pool.child_process import ChildProcess, Job, MoreTime, OnStage
from worker.pool.idle_time import IdleTime
from worker.pool.shared_bytes import Body, SharedBytes, SharedParts
from worker.pool.spares import HeldChild, Spares
from worker.pool.zygote_client import ZygoteClient, ZygoteError, ZygoteToolchain
from worker.sandbox.profile import PROFILES

MAX_TRIES = 3
"""The children of one job, if those before were killed from outside.

That is not a verdict on the job: the kernel kills any process when memory runs out, and a zygote
takes its children with it.
"""
_FRAGILE = "3.6."
"""The Triton that, forked, now and then dies in LLVM's thread pool: fixed in 3.7."""
_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 5.0

_log = logging.getLogger(__name__)


class Outdated(ZygoteError):
    """A zygote would run other code than this process does, under its toolchain's id."""

    def __init__(self) -> None:
        super().__init__(
            "the files of tritond were changed while it ran, so it would compile with other code "
            "than it registered with; start it again"
        )


@dataclass(frozen=True, slots=True)
class _Use:
    """The children that a job may use, and where its child goes afterwards."""

    keep: bool = False
    """True if the child may do another job."""
    lends: bool = False
    """True if that may be any job of its kind; a session keeps its children."""
    held: HeldChild | None = None
    shared: Sequence[SharedBytes] = ()
    fresh: bool = False
    """True if the job needs an unused child."""

    def take(self, spares: Spares, profile: str) -> ChildProcess:
        """Return the child for a job that begins."""
        if self.shared:
            return spares.take_with(profile, [part.descriptor for part in self.shared])
        child = self.held.take(profile) if self.held is not None and not self.fresh else None
        if child is None:
            return spares.take(profile, keep=self.lends, fresh=self.fresh or not self.lends)
        spares.count_job()
        return child

    def give_back(self, spares: Spares, child: ChildProcess) -> bool:
        """Let a child whose job ended well wait for the next one; return whether it may."""
        return spares.give_back(child) if self.held is None else self.held.give_back(child)

    def is_worth_another(self, outcome: ChildOutcome) -> bool:
        """Return True if a job with this end in a used child might succeed in a fresh one."""
        if self.held is not None:  # user code may have left anything, but time is over for both
            return outcome.ending not in (Ending.OK, Ending.DEADLINE)
        return not ended_well(outcome)


def _use_of(job: Job, body: Body | SharedParts, held: HeldChild | None) -> tuple[Job, _Use]:
    """Return `job` with its `body`, and the children that it may use."""
    if isinstance(body, SharedBytes | SharedParts):
        shared = (body,) if isinstance(body, SharedBytes) else body.parts
        return replace(job, header=job.header | {"shared": True}), _Use(shared=shared)
    lends = job.header.get("task") in KEPT_TASKS and held is None
    return replace(job, body=body), _Use(keep=lends or held is not None, lends=lends, held=held)


class Pool:
    """Children of one toolchain; some wait for the next jobs."""

    def __init__(
        self,
        toolchain: ZygoteToolchain,
        *,
        spares: Mapping[str, int] | None = None,
        caps: Caps | None = None,
        on_outdated: Callable[[], None] = lambda: None,
        idle: IdleTime | None = None,
        is_current: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take `spares`, how many children of each profile wait for jobs (default: one each).

        `on_outdated` is called when a zygote would run other code than this process; `idle` is
        shared with the other pools of this process. `is_current` returns whether code that no
        compilation runs, but these children do, is that of this process.
        """
        self._toolchain = toolchain
        self._wanted = dict.fromkeys(PROFILES, 1) if spares is None else dict(spares)
        self._caps = caps or Caps()
        self._on_outdated = on_outdated
        self._idle = idle or IdleTime()
        self._is_current = is_current
        self._zygote: ZygoteClient | None = None
        self._spares: Spares | None = None
        self._up = asyncio.Event()
        self._restart: asyncio.Task[None] | None = None
        self._backoff = Backoff(_FIRST_PAUSE_S, _MAX_PAUSE_S)

    @property
    def facts(self) -> dict[str, Any]:
        """The zygote's description of itself.

        Python, policy, pipeline, libraries, landlock_abi, namespaces, unsafe, warm_ms; {} without
        one.
        """
        return self._zygote.facts if self._zygote is not None else {}

    @property
    def zygote_pid(self) -> int | None:
        """The pid of the zygote, or of the process that waits for it outside its namespaces."""
        return self._zygote.pid if self._zygote is not None else None

    async def start(self) -> None:
        """Start the zygote and order the spares.

        Raises ZygoteError when it does not start, cannot wall in, or is `Outdated`.
        """
        if self._toolchain.unsafe:
            _log.warning("the sandbox is OFF: jobs can read files, use the network, start programs")
        zygote = ZygoteClient(self._caps, self._on_lost)
        await zygote.open(self._toolchain)
        if zygote.facts["pipeline"] != PIPELINE or not self._is_current():
            await zygote.close()
            self._on_outdated()
            raise Outdated
        self._zygote = zygote
        self._spares = Spares(self._wanted, zygote.order, self._idle)
        self._up.set()
        for profile in self._wanted:
            self._spares.refill(profile)

    async def run(
        self,
        profile: str,
        header: dict[str, Any],
        body: Body | SharedParts,
        *,
        deadline_s: float,
        stages: Collection[str] = (),
        on_stage: OnStage | None = None,
        more_s: MoreTime | None = None,
        triton: str = "",
        held: HeldChild | None = None,
    ) -> ChildOutcome:
        """Run one job in its own child and return the outcome.

        `stages` are the names that it may send bytes under, each once; a child that sends others
        is ended. `KEPT_TASKS` share children with others of their kind; what does not end well in
        one that did others before is done again in a fresh one. So do the jobs of one
        `ChildSession`, which brings the child that it `held`. A child whose body is shared is its
        job's alone. Never raises for anything the child does.

        A child that was killed from outside is followed by another, `MAX_TRIES` of them at most
        and within the one deadline; a crash under a `triton` that is known for it by one more.

        Raises FrameError when the job is too big to send, ZygoteError when no zygote came
        up within the deadline. `more_s` is asked when it is over. When the caller is cancelled the
        child is killed.
        """
        job, use = _use_of(Job(header, b"", stages, on_stage, more_s), body, held)
        deadline, crashes = Deadline(deadline_s), 0
        for number in range(1, MAX_TRIES + 1):
            outcome = await self._run_once(profile, job, deadline, use)
            crashed = outcome.ending is Ending.SIGNAL
            crashes += crashed
            is_fragile = crashed and crashes == 1 and triton.startswith(_FRAGILE)
            may_succeed = is_fragile or killed_from_outside(outcome, profile)
            if not may_succeed or number == MAX_TRIES or self._zygote is None:  # None: closed
                break
            _log.warning("a %s child died (%s); retrying in another", profile, outcome.detail)
        return outcome

    async def _run_once(
        self, profile: str, job: Job, deadline: Deadline, use: "_Use"
    ) -> ChildOutcome:
        """Run the job in one child, and in a fresh one where a used one may be at fault."""
        outcome, was_fresh = await self._run(profile, job, deadline, use)
        if not was_fresh and use.is_worth_another(outcome):
            _log.warning("a used %s child ended: %s; trying a fresh one", profile, outcome.detail)
            outcome, _ = await self._run(profile, job, deadline, replace(use, fresh=True))
        self._backoff.reset()
        return outcome

    async def _run(
        self, profile: str, job: Job, deadline: Deadline, use: "_Use"
    ) -> tuple[ChildOutcome, bool]:
        """Run the job in one child; return how it ended, and whether it was that child's first."""
        spares = await self._wait_until_up(deadline)
        child = use.take(spares, profile)
        was_fresh = child.use.jobs == 0
        outcome, began = None, time.monotonic()
        try:
            if was_fresh or not use.lends:
                child.start(job, deadline.left_s, keep=use.keep)
            else:
                child.start(
                    replace(job, more_s=None), min(deadline.left_s, REUSED_CHILD_LIMIT_S), keep=True
                )
            spares.start_job(profile)
            task = job.header.get("task")
            _log.debug("job %s: %s child started on %s", job_id(), profile, task)
            outcome = await asyncio.shield(child.outcome)
            took_ms = (time.monotonic() - began) * 1000
            _log.debug("job %s: %s child ended: %s, %d ms", job_id(), task, outcome.ending, took_ms)
        finally:
            usage = outcome.usage if outcome is not None else None
            job_account.charge_child(usage, time.monotonic() - began)
            well = outcome is not None and ended_well(outcome)
            if not (use.keep and well and use.give_back(spares, child)):
                child.kill(Ending.SIGNAL, "its caller stopped waiting")
            spares.end_job(profile, keep=use.lends, well=well)
        return outcome, was_fresh

    async def close(self) -> None:
        """Kill everything and wait until it is gone. Running jobs end with `signal`."""
        if self._restart is not None:
            self._restart.cancel()
            await asyncio.gather(self._restart, return_exceptions=True)
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            self._let_go()
            await zygote.close()

    async def _wait_until_up(self, deadline: Deadline) -> Spares:
        left_s = deadline.left_s
        try:
            async with asyncio.timeout(left_s):
                await self._up.wait()
        except TimeoutError:
            raise ZygoteError(f"no zygote within {round(left_s, 2):g} s") from None
        assert self._spares is not None
        return self._spares

    def _let_go(self) -> None:
        self._up.clear()
        if self._spares is not None:
            self._spares.close()

    def _on_lost(self, zygote: ZygoteClient) -> None:
        if zygote is self._zygote:
            _log.warning("the zygote died; starting another")
            self._let_go()
            self._restart = asyncio.get_running_loop().create_task(self._start_again(zygote))

    async def _start_again(self, lost: ZygoteClient) -> None:
        await lost.close()
        while not self._up.is_set():
            await asyncio.sleep(self._backoff.next_s())
            try:
                await self.start()
            except Outdated as error:
                _log.error("%s", error)
                return
            except ZygoteError as error:
                _log.warning("%s", error)


def killed_from_outside(outcome: ChildOutcome, profile: str) -> bool:
    """Return True if neither the child itself nor this process ended it.

    A process that has used up its CPU time dies by the same signal, which is its own doing.
    """
    if outcome.ending is not Ending.SIGNAL:
        return False
    if outcome.signal is None:
        return outcome.exit_status is None  # its zygote died
    used_s = outcome.usage.cpu_s if outcome.usage is not None else 0.0
    return outcome.signal == SIGKILL and used_s < PROFILES[profile].limits.cpu_s - 1


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
