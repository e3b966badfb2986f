"""One GPU as the worker uses it: one job at a time, a launcher per caller, spares for the next.

After a run that was not clean, the launcher ends and the GPU's health is checked before the next
job. A GPU that fails the check is cordoned: it takes no more jobs. Programs have separate
launchers, which take the same turns. Runs in the worker.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from launch.checks.roofline import Ceilings
from worker import job_account
from worker.fair_queue import FairQueue
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.launcher_pool import DeviceCordoned, LauncherPool, LauncherSettings
from worker.gpu.supervisor.launcher_process import (
    EncodedOrder,
    LauncherCommand,
    LauncherProcess,
    SentOrder,
)
from worker.gpu.supervisor.launcher_protocol import LauncherFacts, LaunchOutcome
from worker.gpu.supervisor.sanitizer_run import SanitizerReport, run_under_tool
from worker.gpu.tools.installed_tools import Tools, find_tools

_UNWANTED_S = 1.0
"""The time on the GPU that an unwanted job may still take."""
PROGRAM_SETTINGS = LauncherSettings(spares=2, most_processes=6, most_runs=1_000)
"""Settings of program launchers, which start with the first program: torch needs seconds."""

LimitNow = Callable[[], float]
"""Returns a job's time limit when the job starts; an exception ends the job before."""


@dataclass(frozen=True, slots=True)
class _SentAhead:
    """A job that was sent to a launcher which is at work on another of the same caller."""

    launcher: LauncherProcess
    order: SentOrder


class Gpu:
    """One GPU; the next job may be sent before its turn, so that the GPU does not wait for it."""

    def __init__(
        self,
        ordinal: int,
        command: LauncherCommand,
        settings: LauncherSettings,
        programs: LauncherCommand,
    ) -> None:
        """`programs` is how program launchers are started."""
        self.ordinal = ordinal
        self.tools: Tools = find_tools(command.environ())
        self._command = command
        self._settings = settings
        self._launchers = LauncherPool(ordinal, command, settings)
        self._programs = LauncherPool(ordinal, programs, PROGRAM_SETTINGS, "programs")
        self._next = FairQueue()
        """Whose job is the next one."""
        self._turn = asyncio.Lock()
        self._at_work: LauncherProcess | None = None

    @property
    def facts(self) -> LauncherFacts | None:
        """Facts about the GPU from its launchers; None until the first has started."""
        return self._launchers.facts

    @property
    def ceilings(self) -> Ceilings | None:
        """Its peak performance, measured at the start; None if that failed."""
        return self._launchers.ceilings

    @property
    def cordoned(self) -> str | None:
        """The reason why it takes no jobs; None if it does."""
        return self._launchers.cordoned

    @property
    def busy(self) -> bool:
        """True if a job, or the check after one, has the GPU."""
        return self._turn.locked()

    async def start(self) -> None:
        """Start the spares; where there can be none, the GPU is cordoned."""
        await self._launchers.start()

    async def run(
        self,
        job: LauncherOrder,
        *,
        caller: str,
        single_use: bool,
        deadline_s: float | LimitNow,
        turn_s: float | None = None,
        is_batch: bool = False,
    ) -> LaunchOutcome:
        """Run one job when it is its turn, in a launcher that no other caller ever used.

        Work that is not `is_batch` goes first, and callers take turns. `deadline_s` counts from
        when the launcher has the GPU; a function is asked then. Raises DeviceCordoned, FrameError
        when the job is too big to send, TimeoutError when its turn does not come within `turn_s`.
        """
        async with asyncio.timeout(turn_s):
            sent = None if single_use else job
            ahead = await self._take_turn(sent, caller, is_batch=is_batch)
        try:
            limit_s = deadline_s if isinstance(deadline_s, float | int) else deadline_s()
        except BaseException:
            self._launchers.in_background(self._let_pass(caller, ahead))
            raise
        return await self._perform(job, caller, single_use, limit_s, ahead)

    async def run_under_tool(
        self, job: LauncherOrder, tool: str, limit_s: float
    ) -> SanitizerReport:
        """Have a tool watch one run of `job` when it is its turn; then see to the GPU's health.

        `limit_s` counts from its turn. Raises DeviceCordoned, FrameError when the job is too big to
        send.
        """
        await self._take_turn(None, "", is_batch=False)
        try:
            if self.cordoned is not None:
                raise DeviceCordoned(self.cordoned)
            with job_account.on_gpu(partial(self._next.charge, "")):
                return await run_under_tool(
                    self._command, self.tools, self.ordinal, job, tool, limit_s
                )
        finally:
            self._launchers.in_background(self._recover(None))

    async def try_programs(self) -> None:
        """Start a program launcher, and end it: it is there again for the first program.

        Raises DeviceCordoned where none starts, with its message.
        """
        await self._programs.warm("")
        await self._programs.release()

    def warm_programs(self, caller: str) -> None:
        """Start a program launcher that `caller` may take, while its other work continues."""
        self._programs.warm_beside(caller)

    async def replay(
        self,
        order: EncodedOrder,
        *,
        caller: str,
        deadline_s: float | LimitNow,
        turn_s: float | None = None,
        is_batch: bool = False,
        single_use: bool = False,
    ) -> LaunchOutcome:
        """Have a program launcher do `order` when it is its turn; as `run` in all else.

        Raises DeviceCordoned also where program launchers do not start.
        """
        async with asyncio.timeout(turn_s):
            await self._take_program_turn(caller, is_batch=is_batch)
        launcher = outcome = None
        try:
            limit_s = deadline_s if isinstance(deadline_s, float | int) else deadline_s()
            if self.cordoned is not None:
                raise DeviceCordoned(self.cordoned)
            launcher = await self._programs.take(caller, single_use)
            with job_account.on_gpu(partial(self._next.charge, caller)):
                outcome = await launcher.outcome_of(launcher.send(order), limit_s)
            return outcome
        finally:
            self._end_program(launcher, outcome, single_use=single_use)

    async def _take_program_turn(self, caller: str, *, is_batch: bool) -> None:
        """Return when it is the caller's turn, and a program launcher waits for it.

        torch takes seconds to start, in which others may run.
        """
        if not self._programs.serves(caller):
            await self._programs.warm(caller)
        await self._take_turn(None, caller, is_batch=is_batch)
        while not self._programs.waits_for(caller):  # another caller took it, or it has ended
            self._turn.release()
            await self._programs.warm(caller)
            await self._take_turn(None, caller, is_batch=is_batch)

    async def until_cordoned(self) -> str:
        """Return why the GPU takes no jobs any more, once it does not."""
        return await self._launchers.until_cordoned()

    async def until_without_programs(self) -> str:
        """Return why the GPU takes no programs any more, once it does not."""
        ends = [asyncio.ensure_future(pool.until_cordoned()) for pool in self._pools]
        try:
            done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        finally:
            for end in ends:
                end.cancel()

    async def close(self) -> None:
        """Kill all launchers and wait until they are gone."""
        await asyncio.gather(*(pool.close() for pool in self._pools))

    @property
    def _pools(self) -> tuple[LauncherPool, LauncherPool]:
        return self._launchers, self._programs

    async def _take_turn(
        self, job: LauncherOrder | None, caller: str, *, is_batch: bool
    ) -> _SentAhead | None:
        """Return when it is the caller's turn; `job` is sent before if its launcher is at work."""
        await self._next.take(caller, is_batch=is_batch)
        ahead = None
        try:
            ahead = self._send_ahead(job, caller) if job is not None else None
            await self._turn.acquire()
        except BaseException:
            if ahead is None:
                self._next.give_back()
            else:
                self._launchers.in_background(self._take_and_let_pass(caller, ahead))
            raise
        self._next.give_back()
        return ahead

    def _send_ahead(self, job: LauncherOrder, caller: str) -> _SentAhead | None:
        """Send the next job to the launcher that is at work, if that is its caller's.

        Raises FrameError when it is too big.
        """
        launcher = self._at_work
        if launcher is None or launcher.caller != caller or not launcher.alive:
            return None
        if launcher.runs >= self._settings.most_runs or not launcher.may_send_ahead:
            return None
        return _SentAhead(launcher, launcher.send(job))

    async def _perform(
        self,
        job: LauncherOrder,
        caller: str,
        single_use: bool,
        limit_s: float,
        ahead: _SentAhead | None,
    ) -> LaunchOutcome:
        launcher = None
        outcome = None
        try:
            if ahead is not None and self._launchers.take_own(caller, ahead.launcher):
                launcher, order = ahead.launcher, ahead.order
            else:
                launcher = await self._launchers.take(caller, single_use)
                order = launcher.send(job)
            self._at_work = None if single_use else launcher
            with job_account.on_gpu(partial(self._next.charge, caller)):
                outcome = await launcher.outcome_of(order, limit_s)
            return outcome
        finally:
            self._end_turn(launcher, outcome, single_use=single_use)

    def _end_turn(
        self, launcher: LauncherProcess | None, outcome: LaunchOutcome | None, *, single_use: bool
    ) -> None:
        self._at_work = None
        if launcher is None:
            self._turn.release()
        elif outcome is None or not outcome.clean:
            self._launchers.in_background(self._recover(launcher))
        else:
            self._launchers.keep(launcher, single_use=single_use)
            self._turn.release()

    def _end_program(
        self, launcher: LauncherProcess | None, outcome: LaunchOutcome | None, *, single_use: bool
    ) -> None:
        if launcher is None:
            self._turn.release()
        elif outcome is None or not outcome.clean:
            self._launchers.in_background(self._recover_from_program(launcher))
        else:
            self._programs.keep(launcher, single_use=single_use)
            self._turn.release()

    async def _recover_from_program(self, launcher: LauncherProcess) -> None:
        if not await self._programs.retire(launcher):
            self._launchers.cordon(self._programs.cordoned or "")
        await self._recover(None)
        await self._programs.refill()

    async def _recover(self, launcher: LauncherProcess | None) -> None:
        try:
            await self._launchers.recover(launcher)
        finally:
            self._turn.release()
        await self._launchers.refill()

    async def _take_and_let_pass(self, caller: str, ahead: _SentAhead) -> None:
        try:
            await self._turn.acquire()
        finally:
            self._next.give_back()
        await self._let_pass(caller, ahead)

    async def _let_pass(self, caller: str, ahead: _SentAhead | None) -> None:
        """Use up the turn of an unwanted job, which a launcher may already have."""
        if ahead is None or not self._launchers.take_own(caller, ahead.launcher):
            self._turn.release()
            return
        outcome = None
        try:
            outcome = await ahead.launcher.outcome_of(ahead.order, _UNWANTED_S)
        finally:
            self._end_turn(ahead.launcher, outcome, single_use=False)
