"""The consumer of the programs of one GPU.

Children record and compare. Each replay waits for a turn on the GPU, which launches share. The
consumer stops for good when the GPU takes no more programs; its unfinished jobs go to other
workers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from programs.program_job import ProgramJob
from programs.program_kind import PROGRAM
from programs.worker.gpu.gpu_replay import ProgramGpu
from store.jobs.types import program_device_lane
from worker.consumer import Attempt, Consumer, Handler, run_until
from worker.gpu.supervisor.launchers import DeviceCordoned
from worker.replaced_toolchains import ReplacedToolchains, doing_programs
from worker.worker_context import WorkerContext

DoProgram = Callable[[Attempt[ProgramJob], ProgramGpu], Awaitable[None]]

logger = logging.getLogger(__name__)


class ProgramGpuConsumer:
    """Runs the programs of one GPU, one in each slot at a time."""

    def __init__(
        self,
        name: str,
        gpu: ProgramGpu,
        model: str,
        context: WorkerContext,
        do_program: DoProgram,
    ) -> None:
        self._gpu, self._do_program = gpu, do_program
        self._gpus, self._toolchain_id = context.gpus, context.compiling.toolchain.id
        replaced = ReplacedToolchains(
            context.queue.redis,
            partial(doing_programs, f"{gpu.target} {model}"),
            [context.compiling],
            partial(_lanes_of, gpu.target, model),
        )
        self._lane = replaced.lanes[0]
        self._consumer = Consumer(
            context.queue,
            name,
            replaced.lanes,
            [Handler(PROGRAM, self._do)],
            context.slots,
            each_heartbeat=[replaced.look],
        )

    async def run(self) -> None:
        """Offer to run programs, and run them, until cancelled or the GPU takes no more."""
        gpu = self._gpu
        logger.info("GPU %d: %s", gpu.ordinal, self._lane)
        self._gpus.offer_programs(gpu.ordinal, [self._toolchain_id])
        gone = gpu.launchers.until_without_programs(gpu.ordinal)
        try:
            await run_until(gone, self._consumer.run(), self._log_end)
        finally:
            self._gpus.offer_programs(gpu.ordinal, [])

    async def drain(self) -> None:
        """Take no more programs, and return when the running ones have ended."""
        await self._consumer.drain()

    async def _log_end(self, why: str) -> None:
        # the launchers have logged whether it is an error
        logger.info("GPU %d takes no more programs: %s", self._gpu.ordinal, why)

    async def _do(self, attempt: Attempt[ProgramJob]) -> None:
        """Run a program; one that needs a cordoned GPU waits until its slot gives it back."""
        try:
            await self._do_program(attempt, self._gpu)
        except DeviceCordoned:
            await asyncio.Event().wait()


def _lanes_of(target: str, model: str, toolchain_id: str) -> list[str]:
    return [program_device_lane(toolchain_id, target, model)]
