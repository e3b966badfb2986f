"""The part of a worker that drives sweeps. It only waits and submits, and takes no compile slot."""

import asyncio
from functools import partial

from compiler.toolchain import Toolchain
from store import workers
from store.compilations import Compilations, Derived
from store.connection import StoreClient
from store.jobs.consumer import JobConsumer, Revocations
from store.jobs.producer import JobProducer
from store.jobs.types import SWEEPS_LANE, Claim, QueueLimits
from store.jobs.waiting import ResultWaiter
from store.launches import Launches
from store.sweeps import Sweeps
from worker.compile.compile import CompileContext
from worker.slots import Slots
from worker.sweeps.do_sweep import do_sweep
from worker.sweeps.launch_compilation import LaunchCompilations
from worker.sweeps.sweep_run import SweepStores

SWEEPS_AT_ONCE = 64
"""Several times what one caller may have: they only wait."""


class SweepWorker:
    """Drives sweeps of all toolchains, `SWEEPS_AT_ONCE` at a time."""

    def __init__(
        self,
        name: str,
        redis: StoreClient,
        blocking: StoreClient,
        compilations: Compilations,
        derivations: Derived,
        compiling: CompileContext,
        lease_s: float,
    ) -> None:
        limits = QueueLimits(lease_ms=int(lease_s * 1000))
        attempts = JobConsumer(redis, blocking, f"{name}-sweeps", limits)
        self._slots = Slots(
            attempts, [SWEEPS_LANE], self._do, SWEEPS_AT_ONCE, lease_s, has_reserve=True
        )
        self._blocking = blocking
        self._finished = ResultWaiter(redis, blocking)
        self._stores = SweepStores(
            Sweeps(redis),
            JobProducer(redis),
            self._finished,
            compilations,
            Launches(redis),
            partial(_described, workers.Toolchains(redis)),
            LaunchCompilations(compiling),
            derivations,
            compiling.blobs,
        )

    async def run(self) -> None:
        """Drive sweeps until cancelled; those that are not over then are given back."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._finished.run())
            group.create_task(self._slots.run())
            group.create_task(Revocations(self._blocking, self._slots.revoke).run())

    async def _do(self, claim: Claim, attempts: JobConsumer) -> None:
        await do_sweep(claim, attempts, self._stores)


async def _described(registered: workers.Toolchains, toolchain_id: str) -> Toolchain | None:
    description = await registered.describe(toolchain_id)
    return None if description is None else Toolchain.model_validate_json(description)
