"""The part of a worker that does launches on the GPUs of its machine.

It stands beside the compile worker of the same process. Whatever needs compiling is an ordinary
compile job, which any worker may do.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from store.compilations import Compilations
from store.connection import Server
from store.jobs.callers import Jobs
from store.jobs.waiting import Finished
from worker.compile import Bench
from worker.cuda.devices import NoDevices, find_devices
from worker.cuda.launchers import LauncherCommand, Launchers
from worker.launch.children import Children
from worker.launch.gpu import GpuDesk
from worker.launch.gpu_station import GpuStation, Shop

logger = logging.getLogger(__name__)


async def gpus_here() -> list[dict[str, Any]]:
    """Return the facts of the GPUs of this machine, none where there is no driver."""
    try:
        return await find_devices(LauncherCommand())
    except NoDevices as error:
        last_line = str(error).strip().rpartition("\n")[2]
        logger.info("launches run on the interpreter only, not on a GPU: %s", last_line)
        return []


class GpuWorker:
    """Takes launches for each GPU that is healthy."""

    def __init__(
        self,
        name: str,
        redis: Server,
        blocking: Server,
        children: Children,
        bench: Bench,
        compilations: Compilations,
        lease_s: float,
    ) -> None:
        self._name = name
        self._shop = Shop(redis, blocking, children, bench, lease_s)
        self._compilations = compilations
        self._stations: list[GpuStation] = []

    async def run(self) -> None:
        """Do launches until cancelled; return at once where there is no GPU."""
        if gpus := await gpus_here():
            await self.serve(gpus, Launchers([gpu["ordinal"] for gpu in gpus]))

    async def serve(self, gpus: Sequence[dict[str, Any]], launchers: Launchers) -> None:
        """Do launches on `gpus` (ordinal, target, model) until cancelled or all are drained."""
        finished = Finished(self._shop.redis, self._shop.blocking)
        try:
            await launchers.start()
            async with asyncio.TaskGroup() as group:
                waking = group.create_task(finished.run())
                self._stations = [self._station(gpu, launchers, finished) for gpu in gpus]
                await asyncio.gather(*(station.run() for station in self._stations))
                waking.cancel()
        finally:
            await launchers.close()

    async def drain(self) -> None:
        """Take no further launch, and return when those that run have ended."""
        await asyncio.gather(*(station.drain() for station in self._stations))

    def _station(self, gpu: dict[str, Any], launchers: Launchers, finished: Finished) -> GpuStation:
        ordinal = gpu["ordinal"]
        jobs, blobs = Jobs(self._shop.redis), self._shop.bench.blobs
        desk = GpuDesk(launchers, ordinal, jobs, finished, self._compilations, blobs)
        return GpuStation(f"{self._name}-gpu{ordinal}", gpu, desk, self._shop)
