"""The part of a worker that does launches on the CPU device, for everybody.

It stands beside the compile worker of the same process and uses its children to slice sources.
"""

import asyncio
from dataclasses import replace
from functools import partial

from compiler.compilation import amended
from compiler.request.resolution import job_for
from compiler.toolchain import Toolchain
from launch.request.launch_job import LaunchJob
from store import workers
from store.connection import StoreClient
from store.events import Events
from store.expected_outputs import ExpectedOutputs
from store.jobs.consumer import JobConsumer, Revocations
from store.jobs.types import Claim, QueueLimits, cpu_lane
from store.launches import Launches
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.launch.do_launch import LaunchContext, do_launch
from worker.launch.kernel_ir import KernelIr
from worker.launch.kernel_source import KernelSource
from worker.launch.launch_children import Children
from worker.launch.reference_cache import ReferenceCache
from worker.pool.sandbox_report import ToolchainContext
from worker.replaced_toolchains import ReplacedToolchains, of_kind
from worker.slots import HEARTBEAT_S, Slots, every, leave


class LaunchWorker:
    """Takes launches of one toolchain's CPU device, one for each slot."""

    def __init__(
        self,
        worker: workers.Worker,
        redis: StoreClient,
        blocking: StoreClient,
        children: Children,
        compiling: CompileContext,
        lease_s: float,
        expected: ExpectedOutputs,
        remembered: ReferenceCache,
    ) -> None:
        self._worker = worker
        self._children = children
        served_by = partial(of_kind, worker.kind)
        self._replaced = ReplacedToolchains(redis, served_by, [compiling], self._lanes_of)
        limits = QueueLimits(lease_ms=int(lease_s * 1000))
        attempts = JobConsumer(redis, blocking, worker.id, limits)
        lanes = self._replaced.lanes
        self._slots = Slots(attempts, lanes, self._do, worker.slots, lease_s, has_reserve=True)
        self._blocking = blocking
        self._registry = workers.Workers(redis)
        self._context = LaunchContext(
            attempts,
            Launches(redis),
            Events(redis),
            compiling.blobs,
            compiling,
            children,
            self._registry,
            expected,
            known_sources=LRUCache[KernelSource](),
            known_irs=LRUCache[KernelIr](),
            remembered=remembered,
        )

    async def run(self) -> None:
        """Do launches until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._slots.run())
                group.create_task(Revocations(self._blocking, self._slots.revoke).run())
                group.create_task(every(HEARTBEAT_S, self._beat))
                group.create_task(every(HEARTBEAT_S, self._replaced.look))
        finally:
            await leave(self._registry, self._worker.id)

    async def drain(self) -> None:
        """Take no further launch, and return when those that run have ended."""
        await self._slots.drain()

    async def _beat(self) -> None:
        languages = self._children.languages
        await self._registry.beat(
            replace(self._worker, busy=self._slots.busy, references=languages)
        )

    async def _do(self, claim: Claim, attempts: JobConsumer) -> None:
        del attempts  # they are the context's
        await do_launch(_with_toolchain(claim, self._context.compiling.toolchain), self._context)

    def _lanes_of(self, toolchain_id: str) -> list[str]:
        return self._children.lanes(cpu_lane(toolchain_id))


def _with_toolchain(claim: Claim, toolchain: Toolchain) -> Claim:
    """Return the claim of a launch as this toolchain does it.

    Where nobody serves the launch's own any more, this one has the same Triton.
    """
    job = LaunchJob.model_validate_json(claim.payload)
    if job.compile_job.toolchain_id == toolchain.id:
        return claim
    own = amended(job, compile_job=job_for(job.compile_job, toolchain))
    return replace(claim, payload=own.model_dump_json().encode())


def launch_worker_of(
    name: str, toolchain: Toolchain, context: ToolchainContext, slots: int
) -> workers.Worker:
    """Return how the worker of the CPU device is registered, with the children of `context`."""
    return workers.Worker(
        id=f"{name}-launch",
        kind="launch",
        toolchain=toolchain.id,
        device=None,
        sandbox=context.level,
        slots=slots,
        busy=0,
        sandbox_report=context.report.to_dict(),
    )
