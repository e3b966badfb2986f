"""The consumers of launches on the GPUs of this machine, one for each GPU."""

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import Any

from worker.bytes_in_flight import BytesInFlight
from worker.fair_queue import FairSemaphore
from worker.gpu.supervisor.devices import NoDevices, find_devices
from worker.gpu.supervisor.launchers import LauncherCommand, Launchers
from worker.launch.gpu.compiled_kernels import CompiledKernels
from worker.launch.gpu.gpu_consumer import GpuConsumer, GpuShare
from worker.launch.gpu.gpu_run import GpuContext
from worker.worker_context import WorkerContext

logger = logging.getLogger(__name__)


async def gpus_here() -> list[dict[str, Any]]:
    """Return the facts of the GPUs of this machine, none where there is no driver."""
    try:
        return await find_devices(LauncherCommand())
    except NoDevices as error:
        last_line = str(error).strip().rpartition("\n")[2]
        logger.info("no usable GPU; launches run on the CPU device only: %s", last_line)
        return []


class GpuConsumers:
    """Takes launches for each GPU that is healthy."""

    def __init__(self, context: WorkerContext) -> None:
        """`context.gpus` learns of the launchers, which programs use, too."""
        self._context = context
        self._share = GpuShare(
            BytesInFlight(context.memory.in_flight_bytes),
            FairSemaphore(len(os.sched_getaffinity(0))),
        )
        self._kernels = CompiledKernels(
            context.compilations, context.compiling.blobs, context.queue.blocking
        )
        self._consumers: list[GpuConsumer] = []

    async def run(self) -> None:
        """Do launches until cancelled; return at once where there is no GPU."""
        if gpus := await gpus_here():
            command = LauncherCommand(inputs=self._context.memory.inputs)
            ordinals = [gpu["ordinal"] for gpu in gpus]
            launchers = Launchers(ordinals, command, programs=self._context.program_launcher)
            await self.serve(gpus, launchers)
        else:
            self._context.gpus.have_none()

    async def serve(self, gpus: Sequence[dict[str, Any]], launchers: Launchers) -> None:
        """Do launches on `gpus` (ordinal, target, model) until cancelled or all are cordoned."""
        try:
            await launchers.start()
            self._context.gpus.start(launchers, gpus)
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(self._kernels.run())
                self._consumers = [self._consumer(facts, launchers) for facts in gpus]
                await asyncio.gather(*(consumer.run() for consumer in self._consumers))
                listening.cancel()
        finally:
            await launchers.close()

    async def drain(self) -> None:
        """Take no further launch, and return when those that run have ended."""
        await asyncio.gather(*(consumer.drain() for consumer in self._consumers))

    def _consumer(self, facts: dict[str, Any], launchers: Launchers) -> GpuConsumer:
        context, ordinal = self._context, facts["ordinal"]
        gpu = GpuContext(launchers, ordinal, context.client, self._kernels)
        return GpuConsumer(f"{context.name}-gpu{ordinal}", facts, gpu, context, self._share)
