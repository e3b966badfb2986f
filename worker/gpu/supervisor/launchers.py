"""All launchers of a worker: every GPU of the machine, and what is known of each.

Runs in the worker, which never imports CUDA.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from launch.checks.roofline import Ceilings
from worker.gpu.launcher.launcher_order import LauncherOrder
from worker.gpu.supervisor.gpu import Gpu, LimitNow
from worker.gpu.supervisor.launcher_pool import DeviceCordoned, LauncherSettings, WorkerStops
from worker.gpu.supervisor.launcher_process import LauncherCommand, LauncherError, Order, encode
from worker.gpu.supervisor.launcher_protocol import LauncherFacts, LaunchOutcome
from worker.gpu.supervisor.sanitizer_run import SanitizerReport

__all__ = [
    "DeviceCordoned", "DeviceState", "LauncherCommand", "LauncherError", "LauncherSettings",
    "Launchers", "WorkerStops",
]  # fmt: skip

Isolation = Literal["caller", "process"]


@dataclass(frozen=True, slots=True)
class DeviceState:
    """One GPU at the moment."""

    ordinal: int
    facts: LauncherFacts | None
    """None until a first launcher has started."""
    busy: bool
    cordoned: str | None
    """The reason why it takes no more jobs; None if it does."""
    tools: tuple[str, ...] = ()
    """The tools for runs on it: memcheck, racecheck, initcheck, profile."""
    ceilings: Ceilings | None = None
    """Its measured peak performance; None if unknown."""


class Launchers:
    """Runs jobs on the GPUs `ordinals` (numbers in PCI bus order, as CUDA counts them)."""

    def __init__(
        self,
        ordinals: Sequence[int],
        command: LauncherCommand | None = None,
        settings: LauncherSettings | None = None,
        programs: LauncherCommand | None = None,
    ) -> None:
        """`programs` is how program launchers are started, where programs are run."""
        command, settings = command or LauncherCommand(), settings or LauncherSettings()
        programs = programs or LauncherCommand()  # never started where programs are not run
        self._gpus = {ordinal: Gpu(ordinal, command, settings, programs) for ordinal in ordinals}

    @property
    def devices(self) -> list[DeviceState]:
        """All GPUs and their states."""
        return [
            DeviceState(
                gpu.ordinal,
                gpu.facts,
                gpu.busy,
                gpu.cordoned,
                tuple(gpu.tools.names),
                gpu.ceilings,
            )
            for gpu in self._gpus.values()
        ]

    async def start(self) -> None:
        """Start the spares of all GPUs; one on which none starts is cordoned."""
        await asyncio.gather(*(gpu.start() for gpu in self._gpus.values()))

    async def run(
        self,
        ordinal: int,
        job: LauncherOrder,
        *,
        caller: str,
        isolation: Isolation = "caller",
        deadline_s: float | LimitNow,
        turn_s: float | None = None,
        is_batch: bool = False,
    ) -> LaunchOutcome:
        """Run one job on one GPU and return how it ended, whatever the kernel does.

        Two callers never share a launcher; with `isolation="process"` two jobs neither. The
        deadline counts from when the launcher has the job; a job that is still running then is
        killed with it. `is_batch`: others may go first. Raises DeviceCordoned, FrameError when the
        job is too big, TimeoutError when it does not begin within `turn_s`.
        """
        gpu = self._gpus[ordinal]
        single_use = isolation == "process"
        return await gpu.run(
            job,
            caller=caller,
            single_use=single_use,
            deadline_s=deadline_s,
            turn_s=turn_s,
            is_batch=is_batch,
        )

    async def run_under_tool(
        self, ordinal: int, job: LauncherOrder, tool: str, *, limit_s: float
    ) -> SanitizerReport:
        """Have a tool (`DeviceState.tools`) watch one run of `job`, in separate processes.

        It takes the GPU's turn, for at most `limit_s`. Raises DeviceCordoned, FrameError.
        """
        return await self._gpus[ordinal].run_under_tool(job, tool, limit_s)

    async def try_programs(self, ordinal: int) -> None:
        """Find out whether programs run on a GPU. Raises DeviceCordoned, with the reason."""
        await self._gpus[ordinal].try_programs()

    def warm_programs(self, ordinal: int, caller: str) -> None:
        """Have a program launcher start for a program of `caller` that is about to come."""
        self._gpus[ordinal].warm_programs(caller)

    async def replay(
        self,
        ordinal: int,
        order: Order,
        *,
        caller: str,
        deadline_s: float | LimitNow,
        turn_s: float | None = None,
        is_batch: bool = False,
        single_use: bool = False,
    ) -> LaunchOutcome:
        """Replay a program on one GPU, in turn with its launches; as `run` in all else.

        One that is too big is refused before it has a turn. A launcher of `single_use` does no
        other order.
        """
        return await self._gpus[ordinal].replay(
            encode(order),
            caller=caller,
            deadline_s=deadline_s,
            turn_s=turn_s,
            is_batch=is_batch,
            single_use=single_use,
        )

    async def until_cordoned(self, ordinal: int) -> str:
        """Return why a GPU takes no jobs any more, once it does not."""
        return await self._gpus[ordinal].until_cordoned()

    async def until_without_programs(self, ordinal: int) -> str:
        """Return why a GPU takes no programs any more, once it does not."""
        return await self._gpus[ordinal].until_without_programs()

    async def close(self) -> None:
        """Kill all launchers and wait until they are gone."""
        await asyncio.gather(*(gpu.close() for gpu in self._gpus.values()))
