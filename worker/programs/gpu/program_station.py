"""The programs of one GPU, from the queue to their records.

Recording and comparing are children's work; the GPU's turn is taken for each replay, and shared
with launches. Stops for good when the GPU takes no programs any more: those that it has not
finished go to other workers.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from store.connection import StoreClient
from store.jobs.consumer import JobConsumer, Revocations
from store.jobs.types import Claim, QueueLimits, program_device_lane
from worker.compile.compile import CompileContext
from worker.gpu.supervisor.launchers import DeviceDrained
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.programs.gpu.gpu_replay import ProgramGpu
from worker.replaced_toolchains import ReplacedToolchains, doing_programs
from worker.slots import HEARTBEAT_S, Slots, every

DoProgram = Callable[[Claim, JobConsumer, ProgramGpu], Coroutine[Any, Any, None]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgramStationContext:
    """What all stations of a worker share."""

    redis: StoreClient
    blocking: StoreClient
    compiling: CompileContext
    do_program: DoProgram
    slots: int
    lease_s: float


class ProgramStation:
    """Does the programs of one GPU: so many at a time as there are slots."""

    def __init__(
        self, name: str, gpu: ProgramGpu, model: str, context: ProgramStationContext
    ) -> None:
        self._gpu, self._do_program = gpu, context.do_program
        self._blocking = context.blocking
        self._replaced = ReplacedToolchains(
            context.redis,
            partial(doing_programs, f"{gpu.target} {model}"),
            [context.compiling],
            partial(_lanes_of, gpu.target, model),
        )
        limits = QueueLimits(lease_ms=int(context.lease_s * 1000))
        attempts = JobConsumer(context.redis, context.blocking, name, limits)
        lanes, lease_s = self._replaced.lanes, context.lease_s
        self._slots = Slots(attempts, lanes, self._do, context.slots, lease_s, has_reserve=True)

    @property
    def ordinal(self) -> int:
        """Of its GPU."""
        return self._gpu.ordinal

    async def run(self) -> None:
        """Work until cancelled, or until the GPU takes no programs any more."""
        gpu = self._gpu
        ended = asyncio.create_task(gpu.launchers.until_without_programs(gpu.ordinal))
        work = asyncio.create_task(self._work())
        try:
            await asyncio.wait({ended, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                logger.error("GPU %d takes no more programs: %s", gpu.ordinal, ended.result())
        finally:
            for task in (ended, work):
                task.cancel()
            await asyncio.gather(ended, work, return_exceptions=True)
        if not work.cancelled() and (error := work.exception()):
            raise error

    async def drain(self) -> None:
        """Take no further program, and return when those that run have ended."""
        await self._slots.drain()

    async def _work(self) -> None:
        logger.info("GPU %d: %s", self._gpu.ordinal, self._replaced.lanes[0])
        async with asyncio.TaskGroup() as group:
            group.create_task(self._slots.run())
            group.create_task(Revocations(self._blocking, self._slots.revoke).run())
            group.create_task(every(HEARTBEAT_S, self._replaced.look))

    async def _do(self, claim: Claim, attempts: JobConsumer) -> None:
        """Do a program; one that needs a GPU that is drained waits until its slot gives it back."""
        try:
            await self._do_program(claim, attempts, self._gpu)
        except DeviceDrained:
            await asyncio.Event().wait()


def _lanes_of(target: str, model: str, toolchain_id: str) -> list[str]:
    return [program_device_lane(toolchain_id, target, model)]


async def offer(station: ProgramStation, gpus: SharedGpus, toolchain: str) -> None:
    """Offer the programs of `toolchain` on a GPU while its station runs."""
    gpus.offer_programs(station.ordinal, [toolchain])
    try:
        await station.run()
    finally:
        gpus.offer_programs(station.ordinal, [])
