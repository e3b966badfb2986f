"""The part of a worker that does launches on the GPUs of its machine.

It stands beside the compile worker of the same process. Whatever needs compiling is an ordinary
compile job, which any worker may do.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from store import workers
from store.compilations import Compilations
from store.connection import Server
from store.jobs.attempts import Attempts
from store.jobs.callers import Jobs
from store.jobs.revocations import Revocations
from store.jobs.waiting import Finished
from store.jobs.words import Claim, Limits
from store.lanes import device_lane
from store.launches import Launches
from worker.compile import Bench
from worker.cuda.devices import NoDevices, find_devices
from worker.cuda.launchers import LauncherCommand, LauncherError, Launchers
from worker.launch.gpu import GpuDesk
from worker.launch.launch_job import LaunchDesk, do_launch
from worker.pool import Pool
from worker.slots import Slots
from worker.upkeep import HEARTBEAT_S, every

SLOTS_PER_GPU = 4
"""A GPU runs one job at a time; meanwhile others compile, compute references and compare."""

logger = logging.getLogger(__name__)


async def gpus_here() -> list[dict[str, Any]]:
    """Return the facts of the GPUs of this machine, none where there is no driver."""
    try:
        return await find_devices(LauncherCommand())
    except NoDevices as error:
        last_line = str(error).strip().rpartition("\n")[2]
        logger.info("no GPU here, launches run on the interpreter only (%s)", last_line)
        return []


class GpuWorker:
    """Takes launches for each GPU that is healthy."""

    def __init__(
        self,
        name: str,
        redis: Server,
        blocking: Server,
        pool: Pool,
        bench: Bench,
        compilations: Compilations,
        lease_s: float,
    ) -> None:
        self._name = name
        self._redis = redis
        self._blocking = blocking
        self._pool = pool
        self._bench = bench
        self._compilations = compilations
        self._lease_s = lease_s

    async def run(self) -> None:
        """Do launches until cancelled; return at once where there is no GPU."""
        gpus = await gpus_here()
        if not gpus:
            return
        launchers = Launchers([gpu["ordinal"] for gpu in gpus])
        try:
            await launchers.start()
            await self._serve(gpus, launchers)
        except LauncherError:
            logger.exception("the GPUs of this machine cannot be used")
        finally:
            await launchers.close()

    async def _serve(self, gpus: Sequence[dict[str, Any]], launchers: Launchers) -> None:
        finished = Finished(self._redis, self._blocking)
        async with asyncio.TaskGroup() as group:
            group.create_task(finished.run())
            for gpu in gpus:
                desk = GpuDesk(
                    launchers,
                    gpu["ordinal"],
                    Jobs(self._redis),
                    finished,
                    self._compilations,
                    self._bench.blobs,
                )
                group.create_task(self._serve_one(gpu, desk))

    async def _serve_one(self, gpu: dict[str, Any], desk: GpuDesk) -> None:
        name = f"{self._name}-gpu{gpu['ordinal']}"
        lane = device_lane(gpu["target"], gpu["model"])
        slots = Slots(
            partial(self._attempts, name), [lane], partial(self._do, desk), SLOTS_PER_GPU,
            self._lease_s,
        )  # fmt: skip
        registry = workers.Workers(self._redis)

        async def beat() -> None:
            state = next(d for d in desk.launchers.devices if d.ordinal == desk.ordinal)
            if state.drained is not None:
                logger.error("GPU %d is drained: %s", desk.ordinal, state.drained)
                return
            device = f"{gpu['target']} {gpu['model']}"
            worker = workers.Worker(
                name, "launch", None, device, "launcher", slots.count, slots.busy
            )
            await registry.beat(worker)

        logger.info("GPU %d: %s", desk.ordinal, lane)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(slots.run())
                group.create_task(Revocations(self._blocking, slots.revoke).run())
                group.create_task(every(HEARTBEAT_S, beat))
        finally:
            await registry.leave(name)

    async def _do(self, desk: GpuDesk, claim: Claim, attempts: Attempts) -> None:
        launches = Launches(self._redis)
        bench = self._bench
        await do_launch(claim, LaunchDesk(attempts, launches, bench.blobs, bench, self._pool, desk))

    def _attempts(self, name: str, number: int) -> Attempts:
        limits = Limits(lease_ms=int(self._lease_s * 1000))
        return Attempts(self._redis, self._blocking, f"{name}.{number}", limits)
