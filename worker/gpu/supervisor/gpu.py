"""One GPU as the worker uses it: one job at a time, a launcher per caller, spares for the next.

After anything that was not clean the launcher is gone and the GPU is examined before the next job;
a GPU that fails that is drained: it takes no job any more. Runs in the worker.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.examination import Examined, examine
from worker.gpu.supervisor.launcher_process import LauncherCommand, LauncherError, LauncherProcess
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LauncherFacts, LaunchOutcome
from worker.gpu.tools.installed_tools import Tools, find_tools
from worker.turns import Turns

_FIRST_PAUSE_S = 0.5
_MOST_FAILED_STARTS = 3

LimitNow = Callable[[], float]
"""How long a job may run, asked when it begins: what it raises ends the job before."""

_log = logging.getLogger(__name__)


class DeviceDrained(Exception):
    """The GPU takes no jobs: it failed its health check, or a launcher is stuck in its driver."""


@dataclass(frozen=True, slots=True)
class LauncherSettings:
    """How many launchers a GPU has. Each takes about half a GiB of its memory."""

    spares: int = 1
    """With a context, waiting for a caller that has none."""
    most_processes: int = 4
    most_runs: int = 1000
    """Of one launcher, before it is replaced."""
    health_s: float = 30.0


class Gpu:
    """The launchers of one GPU."""

    def __init__(self, ordinal: int, command: LauncherCommand, settings: LauncherSettings) -> None:
        self.ordinal = ordinal
        self.facts: LauncherFacts | None = None
        self.drained: str | None = None
        """Why it takes no jobs; None while it does."""
        self.tools: Tools = find_tools(command.environ())
        self._is_drained = asyncio.Event()
        self._command = command
        self._settings = settings
        self._turns = Turns()
        self._living: set[LauncherProcess] = set()
        self._spares: list[LauncherProcess] = []
        self._bound: OrderedDict[str, LauncherProcess] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refilling = False
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether a job, or the check after one, has the GPU."""
        return self._turns.all_taken

    async def start(self) -> None:
        """Start the spares; where there can be none, the GPU is drained."""
        try:
            for _ in range(max(1, self._settings.spares)):
                self._spares.append(await self._new())
        except LauncherError as error:
            self._drain(str(error))

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
        when the launcher has the job; a function is asked then. Raises DeviceDrained, FrameError
        when the job is too big to send, TimeoutError when its turn does not come within `turn_s`.
        """
        async with asyncio.timeout(turn_s):
            await self._turns.take(caller, is_batch=is_batch)
        launcher = None
        outcome = None
        try:
            limit_s = deadline_s if isinstance(deadline_s, float | int) else deadline_s()
            launcher = await self._take_launcher(caller, single_use)
            outcome = await launcher.run(job, limit_s)
            return outcome
        finally:
            if launcher is None:
                self._turns.give_back()
            elif outcome is None or not outcome.clean:
                self._in_background(self._recover(launcher))
            else:
                self._keep(launcher, single_use)
                self._turns.give_back()
                self._in_background(self._refill())

    async def examine(self, job: LauncherOrder, tool: str, limit_s: float) -> Examined:
        """Have a tool watch one run of `job` when it is its turn; then see to the GPU's health.

        `limit_s` counts from its turn. Raises DeviceDrained, FrameError when the job is too big to
        send.
        """
        await self._turns.take("")
        try:
            if self.drained is not None:
                raise DeviceDrained(self.drained)
            return await examine(self._command, self.tools, self.ordinal, job, tool, limit_s)
        finally:
            self._in_background(self._recover(None))

    async def until_drained(self) -> str:
        """Return why the GPU takes no jobs any more, once it does not."""
        await self._is_drained.wait()
        return self.drained or ""

    async def close(self) -> None:
        """Kill all launchers and wait until they are gone."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._spares, self._bound = [], OrderedDict()
        await asyncio.gather(*(launcher.close() for launcher in self._living))

    async def _new(self) -> LauncherProcess:
        launcher = LauncherProcess(self._command, self.ordinal)
        self._living.add(launcher)
        try:
            self.facts = await launcher.start()
        except LauncherError:
            self._living.discard(launcher)
            raise
        return launcher

    async def _take_launcher(self, caller: str, single_use: bool) -> LauncherProcess:
        """Return a launcher for `caller`; a GPU on which none starts is drained.

        Raises DeviceDrained.
        """
        if self.drained is None:
            try:
                return await self._take(caller, single_use)
            except LauncherError as error:
                self._drain(str(error))
        raise DeviceDrained(self.drained)

    async def _take(self, caller: str, single_use: bool) -> LauncherProcess:
        """Return the caller's own launcher, or one that nobody has used."""
        if not single_use and (own := self._bound.pop(caller, None)) is not None:
            if own.alive:
                return self._assign(own, caller)
            await self._retire(own)
        while self._spares:
            spare = self._spares.pop(0)
            if spare.alive:
                return self._assign(spare, caller)
            await self._retire(spare)
        await self._make_room()
        return self._assign(await self._new(), caller)

    @staticmethod
    def _assign(launcher: LauncherProcess, caller: str) -> LauncherProcess:
        assert launcher.caller in (None, caller)
        launcher.caller = caller
        launcher.runs += 1
        return launcher

    def _keep(self, launcher: LauncherProcess, single_use: bool) -> None:
        caller = launcher.caller
        if single_use or caller is None or launcher.runs >= self._settings.most_runs:
            self._in_background(self._retire(launcher))
            return
        self._bound[caller] = launcher  # the most recent is last
        most = max(1, self._settings.most_processes - self._settings.spares)
        while len(self._bound) > most:
            _, oldest = self._bound.popitem(last=False)
            self._in_background(self._retire(oldest))

    async def _make_room(self) -> None:
        while self._bound and len(self._bound) + 1 > self._settings.most_processes - 1:
            _, oldest = self._bound.popitem(last=False)
            await self._retire(oldest)

    async def _retire(self, launcher: LauncherProcess) -> None:
        is_gone = await launcher.close()
        self._living.discard(launcher)
        if not is_gone:
            self._drain(f"launcher {launcher.pid} was killed and is not gone")

    async def _recover(self, launcher: LauncherProcess | None) -> None:
        """Let go of a launcher that ended badly, and see whether the GPU still works."""
        try:
            if launcher is not None:
                await self._retire(launcher)
            if self.drained is None and not self._closed:
                await self._examine()
        finally:
            self._turns.give_back()
        await self._refill()

    async def _examine(self) -> None:
        """Run the health kernel in a launcher that no job has used; drain the GPU if it fails."""
        fresh = next((spare for spare in self._spares if spare.alive), None)
        if fresh is None:
            try:
                fresh = await self._new()
            except LauncherError as error:
                self._drain(str(error))
                return
            self._spares.append(fresh)
        outcome = await fresh.examine(self._settings.health_s)
        if outcome.ending is not LaunchEnding.OK:
            self._spares.remove(fresh)
            await self._retire(fresh)
            self._drain(f"the health kernel failed: {outcome.ending}, {outcome.detail}")

    async def _refill(self) -> None:
        """Start spares until as many wait as are wanted."""
        if self._refilling or self._closed or self.drained is not None:
            return
        self._refilling = True
        try:
            await self._start_spares()
        finally:
            self._refilling = False

    async def _start_spares(self) -> None:
        failed = 0
        while len(self._spares) < self._settings.spares and self.drained is None:
            try:
                self._spares.append(await self._new())
            except LauncherError as error:
                failed += 1
                _log.warning("%s", error)
                if failed == _MOST_FAILED_STARTS:
                    self._drain(str(error))
                    return
                await asyncio.sleep(_FIRST_PAUSE_S * 2**failed)

    def _drain(self, why: str) -> None:
        if self.drained is None:
            self.drained = why
            self._is_drained.set()
            _log.error("GPU %d takes no more jobs: %s", self.ordinal, why)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
