"""The part of a worker that does launches on the GPUs of its machine, one station for each GPU."""

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from store.compilations import Compilations
from store.connection import StoreClient
from store.expected_outputs import ExpectedOutputs
from store.jobs.producer import JobProducer
from store.jobs.waiting import ResultWaiter
from worker.bytes_in_flight import BytesInFlight
from worker.compile.compile import CompileContext
from worker.gpu.supervisor.devices import NoDevices, find_devices
from worker.gpu.supervisor.launcher_process import InputsBudget
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.launch.gpu.compiled_kernels import CompiledKernels
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.gpu.gpu_station import GpuStation, StationContext
from worker.launch.launch_children import Children
from worker.launch.reference_cache import ReferenceCache
from worker.turns import Places

logger = logging.getLogger(__name__)


async def gpus_here() -> list[dict[str, Any]]:
    """Return the facts of the GPUs of this machine, none where there is no driver."""
    try:
        return await find_devices(LauncherCommand())
    except NoDevices as error:
        last_line = str(error).strip().rpartition("\n")[2]
        logger.info("launches run on the CPU device only, not on a GPU: %s", last_line)
        return []


@dataclass(frozen=True, slots=True)
class LaunchMemory:
    """What launches may take of a worker's memory."""

    references: ReferenceCache
    """Of what references answered before; shared with the CPU device's launches."""
    in_flight_bytes: int
    """For uploads and outputs of the launches that are under way."""
    inputs: InputsBudget
    """Of each launcher, for what buffers start with."""


class GpuWorker:
    """Takes launches for each GPU that is healthy."""

    def __init__(
        self,
        name: str,
        redis: StoreClient,
        blocking: StoreClient,
        children: Children,
        compiling: CompileContext,
        compilations: Compilations,
        lease_s: float,
        expected: ExpectedOutputs,
        memory: LaunchMemory,
        gpus: SharedGpus,
    ) -> None:
        """`gpus` is told of the launchers that programs take, too."""
        self._name = name
        self._inputs = memory.inputs
        self._context = StationContext(
            redis,
            blocking,
            children,
            compiling,
            lease_s,
            expected,
            remembered=memory.references,
            in_flight=BytesInFlight(memory.in_flight_bytes),
            places=Places(len(os.sched_getaffinity(0))),
            gpus=gpus,
        )
        self._kernels = CompiledKernels(compilations, compiling.blobs, blocking)
        self._stations: list[GpuStation] = []

    async def run(self) -> None:
        """Do launches until cancelled; return at once where there is no GPU."""
        if gpus := await gpus_here():
            command = LauncherCommand(inputs=self._inputs)
            await self.serve(gpus, Launchers([gpu["ordinal"] for gpu in gpus], command))
        else:
            self._context.gpus.have_none()

    async def serve(self, gpus: Sequence[dict[str, Any]], launchers: Launchers) -> None:
        """Do launches on `gpus` (ordinal, target, model) until cancelled or all are drained."""
        finished = ResultWaiter(self._context.redis, self._context.blocking)
        try:
            await launchers.start()
            self._context.gpus.start(launchers, gpus)
            async with asyncio.TaskGroup() as group:
                listening = [
                    group.create_task(part()) for part in (finished.run, self._kernels.run)
                ]
                self._stations = [self._station(facts, launchers, finished) for facts in gpus]
                await asyncio.gather(*(station.run() for station in self._stations))
                for part in listening:
                    part.cancel()
        finally:
            await launchers.close()

    async def drain(self) -> None:
        """Take no further launch, and return when those that run have ended."""
        await asyncio.gather(*(station.drain() for station in self._stations))

    def _station(
        self, facts: dict[str, Any], launchers: Launchers, finished: ResultWaiter
    ) -> GpuStation:
        ordinal = facts["ordinal"]
        jobs = JobProducer(self._context.redis)
        gpu = GpuContext(launchers, ordinal, jobs, finished, self._kernels)
        return GpuStation(f"{self._name}-gpu{ordinal}", facts, gpu, self._context)
