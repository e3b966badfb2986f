"""All launchers of a worker: every GPU of the machine, and what is known of each.

Runs in the worker, which never imports CUDA.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from worker.cuda.gpu import DeviceDrained, Gpu, LauncherSettings
from worker.cuda.job import LaunchJob
from worker.cuda.launcher_process import LauncherCommand, LauncherError
from worker.cuda.outcome import LauncherFacts, LaunchOutcome

__all__ = [
    "DeviceDrained", "DeviceState", "LauncherCommand", "LauncherError", "LauncherSettings",
    "Launchers",
]  # fmt: skip

Isolation = Literal["caller", "process"]


@dataclass(frozen=True, slots=True)
class DeviceState:
    """One GPU at the moment."""

    ordinal: int
    facts: LauncherFacts | None
    """None until a first launcher has started."""
    busy: bool
    drained: str | None
    """Why it takes no jobs any more; None while it does."""


class Launchers:
    """Runs jobs on the GPUs `ordinals` (numbers in PCI bus order, as CUDA counts them)."""

    def __init__(
        self,
        ordinals: Sequence[int],
        command: LauncherCommand | None = None,
        settings: LauncherSettings | None = None,
    ) -> None:
        command, settings = command or LauncherCommand(), settings or LauncherSettings()
        self._gpus = {ordinal: Gpu(ordinal, command, settings) for ordinal in ordinals}

    @property
    def devices(self) -> list[DeviceState]:
        """All GPUs and their states."""
        return [
            DeviceState(gpu.ordinal, gpu.facts, gpu.busy, gpu.drained)
            for gpu in self._gpus.values()
        ]

    async def start(self) -> None:
        """Start the spares of all GPUs. Raises LauncherError."""
        await asyncio.gather(*(gpu.start() for gpu in self._gpus.values()))

    async def run(
        self,
        ordinal: int,
        job: LaunchJob,
        *,
        caller: str,
        isolation: Isolation = "caller",
        deadline_s: float,
    ) -> LaunchOutcome:
        """Run one job on one GPU and return how it ended, whatever the kernel does.

        Two callers never share a launcher; with `isolation="process"` two jobs neither. The
        deadline counts from when the launcher has the job; a job that is still running then is
        killed with it. Raises DeviceDrained, LauncherError, FrameError when the job is too big.
        """
        gpu = self._gpus[ordinal]
        single_use = isolation == "process"
        return await gpu.run(job, caller=caller, single_use=single_use, deadline_s=deadline_s)

    async def close(self) -> None:
        """Kill all launchers and wait until they are gone."""
        await asyncio.gather(*(gpu.close() for gpu in self._gpus.values()))
