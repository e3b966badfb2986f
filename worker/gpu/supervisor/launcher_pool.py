"""The launchers of one GPU: unused spares, and one for each of a few callers.

A GPU on which none starts, or whose health kernel fails, is cordoned: it takes no job any more.
Whose turn it is to use one is not known here. Runs in the worker.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass

from launch.checks.roofline import Ceilings
from worker.gpu.supervisor.launcher_process import LauncherCommand, LauncherError, LauncherProcess
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LauncherFacts

_FIRST_PAUSE_S = 0.5
_MAX_FAILED_STARTS = 3
_STOPS = "the worker stops"

_log = logging.getLogger(__name__)


class DeviceCordoned(Exception):
    """The GPU takes no jobs: it failed its health check, or a launcher is stuck in its driver."""


class WorkerStops(DeviceCordoned):
    """The worker stops, and its launchers with it."""


@dataclass(frozen=True, slots=True)
class LauncherSettings:
    """Limits on a GPU's launchers. Each takes about half a GiB of GPU memory."""

    spares: int = 1
    """Launchers with a context that wait for a caller without one."""
    most_processes: int = 4
    most_runs: int = 10_000
    """The runs of one launcher before it is replaced."""
    health_s: float = 30.0


class LauncherPool:
    """The launchers of the GPU `ordinal`."""

    def __init__(
        self,
        ordinal: int,
        command: LauncherCommand,
        settings: LauncherSettings,
        what: str = "jobs",
    ) -> None:
        """Start none yet; `what` is done in them, in the words of a log."""
        self.facts: LauncherFacts | None = None
        self.cordoned: str | None = None
        """The reason why it takes no jobs; None if it does."""
        self.ceilings: Ceilings | None = None
        """The GPU's peak performance; None if it is not known."""
        self.settings = settings
        self._ordinal = ordinal
        self._what = what
        self._command = command
        self._is_cordoned = asyncio.Event()
        self._living: set[LauncherProcess] = set()
        self._spares: list[LauncherProcess] = []
        self._bound: OrderedDict[str, LauncherProcess] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._refilling = False
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(self) -> None:
        """Start the spares; where there can be none, the GPU is cordoned."""
        try:
            for _ in range(max(1, self.settings.spares)):
                self._spares.append(await self._new())
            await self._measure(self._spares[0])
        except LauncherError as error:
            self.cordon(str(error))

    async def _measure(self, launcher: LauncherProcess) -> None:
        """Learn the ceilings from a spare that has the GPU for itself. Raises LauncherError."""
        outcome = await launcher.measure(self.settings.health_s)
        try:
            self.ceilings = Ceilings.from_json((outcome.result or {})["ceilings"])
        except (KeyError, TypeError, ValueError) as error:
            reason = outcome.detail or repr(error)
            _log.warning("the ceilings of GPU %d are not known: %s", self._ordinal, reason)
        if not outcome.clean:
            self._spares.remove(launcher)
            await self.retire(launcher)
            self._spares.append(await self._new())

    async def until_cordoned(self) -> str:
        """Return why the GPU takes no jobs any more, once it does not."""
        await self._is_cordoned.wait()
        return self.cordoned or ""

    async def close(self) -> None:
        """Kill all launchers and wait until they are gone."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._spares, self._bound = [], OrderedDict()
        await asyncio.gather(*(launcher.close() for launcher in self._living))

    async def take(self, caller: str, single_use: bool) -> LauncherProcess:
        """Return a launcher for `caller`; a GPU on which none starts is cordoned.

        Raises DeviceCordoned.
        """
        if self.cordoned is None:
            try:
                return await self._find(caller, single_use)
            except LauncherError as error:
                self.cordon(str(error))
        raise self._refusal()

    def take_own(self, caller: str, launcher: LauncherProcess) -> bool:
        """Take this launcher, if it is the caller's and waits; return whether it does."""
        if self.cordoned is not None or self._bound.get(caller) is not launcher:
            return False
        self._in_use(self._bound.pop(caller), caller)
        return True

    def keep(self, launcher: LauncherProcess, *, single_use: bool) -> None:
        """Let a launcher whose job ended clean wait for its caller's next one, if it may."""
        caller = launcher.caller
        if single_use or caller is None or launcher.runs >= self.settings.most_runs:
            self.in_background(self._let_go(launcher))
        else:
            self._bound[caller] = launcher  # the most recent is last
        most = max(1, self.settings.most_processes - self.settings.spares)
        while len(self._bound) > most:
            _, oldest = self._bound.popitem(last=False)
            self.in_background(self._let_go(oldest))
        if len(self._spares) < self.settings.spares:
            self.in_background(self.refill())

    async def recover(self, launcher: LauncherProcess | None) -> None:
        """Let go of a launcher that ended badly, and see whether the GPU still works."""
        if launcher is not None:
            await self.retire(launcher)
        if self.cordoned is None and not self._closed:
            await self._examine()

    async def warm(self, caller: str) -> None:
        """Have a launcher wait that `caller` may take, if none does. Raises DeviceCordoned."""
        async with self._starting:
            if self.waits_for(caller):
                return
            if self.cordoned is None:
                try:
                    self._spares.append(await self._new())
                except LauncherError as error:
                    self.cordon(str(error))
            if self.cordoned is not None:
                raise self._refusal()

    def warm_beside(self, caller: str) -> None:
        """Run `warm` in the background; if no launcher starts, the next caller gets the error."""

        async def warm() -> None:
            with contextlib.suppress(DeviceCordoned):
                await self.warm(caller)

        if not self.serves(caller):
            self.in_background(warm())

    def serves(self, caller: str) -> bool:
        """Return whether a launcher works for `caller`, or is idle and `caller` may take it."""
        own = (launcher for launcher in self._living if launcher.caller == caller)
        return any(launcher.alive for launcher in own) or self.waits_for(caller)

    def waits_for(self, caller: str) -> bool:
        """Return whether an idle launcher is one that `caller` may take."""
        own = self._bound.get(caller)
        return (own is not None and own.alive) or any(spare.alive for spare in self._spares)

    async def release(self) -> None:
        """Let go of the spares; there are some again after the next job."""
        spares, self._spares = self._spares, []
        for spare in spares:
            await self.retire(spare)

    async def refill(self) -> None:
        """Start spares until as many wait as are wanted."""
        if self._refilling or self._closed or self.cordoned is not None:
            return
        self._refilling = True
        try:
            await self._start_spares()
        finally:
            self._refilling = False

    async def _start_spares(self) -> None:
        failed = 0
        while len(self._spares) < self.settings.spares and self.cordoned is None:
            try:
                async with self._starting:
                    if len(self._spares) < self.settings.spares:  # `warm` may have started one
                        self._spares.append(await self._new())
            except LauncherError as error:
                failed += 1
                _log.warning("%s", error)
                if failed == _MAX_FAILED_STARTS:
                    self.cordon(str(error))
                    return
                await asyncio.sleep(_FIRST_PAUSE_S * 2**failed)

    def cordon(self, why: str) -> None:
        """Take no job any more."""
        if self.cordoned is None:
            self.cordoned = _STOPS if self._closed else why
            self._is_cordoned.set()
            level = logging.INFO if self._closed else logging.ERROR
            _log.log(level, "GPU %d takes no more %s: %s", self._ordinal, self._what, self.cordoned)

    def _refusal(self) -> DeviceCordoned:
        return (WorkerStops if self._closed else DeviceCordoned)(self.cordoned)

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Do `work` in the background; it ends with `close`."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _new(self) -> LauncherProcess:
        """Start a launcher. Raises LauncherError."""
        if self._closed:
            raise LauncherError(_STOPS)
        launcher = LauncherProcess(self._command, self._ordinal)
        self._living.add(launcher)
        try:
            self.facts = await launcher.start()
        except (LauncherError, asyncio.CancelledError):
            self._living.discard(launcher)
            raise
        return launcher

    async def _find(self, caller: str, single_use: bool) -> LauncherProcess:
        """Return the caller's own launcher, or an unused one."""
        if not single_use and (own := self._bound.pop(caller, None)) is not None:
            if own.alive:
                return self._in_use(own, caller)
            await self.retire(own)
        while self._spares:
            spare = self._spares.pop(0)
            if spare.alive:
                return self._in_use(spare, caller)
            await self.retire(spare)
        await self._make_room()
        return self._in_use(await self._new(), caller)

    @staticmethod
    def _in_use(launcher: LauncherProcess, caller: str) -> LauncherProcess:
        assert launcher.caller in (None, caller)
        launcher.caller = caller
        launcher.runs += 1
        return launcher

    async def _let_go(self, launcher: LauncherProcess) -> None:
        await self.retire(launcher)

    async def _make_room(self) -> None:
        while self._bound and len(self._bound) + 1 > self.settings.most_processes - 1:
            _, oldest = self._bound.popitem(last=False)
            await self.retire(oldest)

    async def retire(self, launcher: LauncherProcess) -> bool:
        """End a launcher. False: it is stuck in the driver, and the GPU is cordoned."""
        is_gone = await launcher.close()
        self._living.discard(launcher)
        if not is_gone:
            self.cordon(f"launcher {launcher.pid} was killed and is not gone")
        return is_gone

    async def _examine(self) -> None:
        """Run the health kernel in a launcher that no job has used; cordon the GPU if it fails."""
        fresh = next((spare for spare in self._spares if spare.alive), None)
        if fresh is None:
            try:
                fresh = await self._new()
            except LauncherError as error:
                self.cordon(str(error))
                return
            self._spares.append(fresh)
        outcome = await fresh.check_health(self.settings.health_s)
        if outcome.ending is not LaunchEnding.OK:
            self._spares.remove(fresh)
            await self.retire(fresh)
            self.cordon(f"the health kernel failed: {outcome.ending}, {outcome.detail}")
