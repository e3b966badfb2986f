"""A compile worker: its connections, its slots, and what it does beside its jobs.

Nothing is kept in this process that cannot be lost: a job whose worker dies is done by another.
"""

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Sequence
from functools import partial
from typing import Final, Self

from compiler.toolchain import Toolchain
from launch.request.dead_letter import EXHAUSTED
from programs.lapsed_program import PROGRAMS, lapsed_program
from store import workers
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations, Derived
from store.connection import connect, connect_blocking
from store.events import Events
from store.expected_outputs import ExpectedOutputs
from store.jobs.consumer import JobConsumer, Revocations, reap_for_all
from store.jobs.types import (
    Claim,
    QueueLimits,
    compile_lane,
    derive_lane,
    inspect_lane,
    kind_of,
)
from store.subscription import invalidate
from store.workers import Counters
from sweeps.lapsed import lapsed_record
from worker.compile.compile import CompileContext
from worker.compile.compile_job import JobContext, do_job
from worker.compile.derive_job import do_derivation
from worker.compile.inspect_job import do_inspection
from worker.compile.toolchain_identity import identify
from worker.gpu.supervisor.launcher_process import InputsBudget
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.launch.gpu.gpu_worker import GpuWorker, LaunchMemory
from worker.launch.launch_children import Children
from worker.launch.launch_worker import LaunchWorker, launch_worker_of
from worker.launch.reference_cache import ReferenceCache
from worker.pool.sandbox_report import ToolchainContext
from worker.programs.program_children import ProgramChildren
from worker.programs.program_worker import ProgramWorker
from worker.replaced_toolchains import ReplacedToolchains, of_kind
from worker.settings import WorkerSettings
from worker.slots import HEARTBEAT_S, SWEEP_S, Slots, every, leave, once_available
from worker.sweeps.sweep_worker import SweepWorker

logger = logging.getLogger(__name__)

LANES = (compile_lane, inspect_lane, derive_lane)
KIND: Final = "compile"


class CompileWorker:
    """One worker on any number of toolchains; `async with` it, then `run_until` it shall stop.

    The first of `branches` is the one it launches with, and the default of a new deployment.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        branches: Sequence[ToolchainContext],
        children: Children,
        programs: ProgramChildren | None = None,
    ) -> None:
        self._name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._branches = branches
        self._children = children
        self._program_children = programs
        self._slot_count = settings.slots
        self._lease_s = settings.lease_s
        self._share_namespaces = settings.share_namespaces
        self._ir_bounds = settings.ir_bounds
        self._redis = connect(settings.redis_url)
        self._blocking = connect_blocking(settings.redis_url)
        self._cache = connect(settings.cache_url) if settings.cache_url else self._redis
        shares_server = settings.cache_url is None
        self._budget = Budget(self._cache, settings.cache_budget_bytes) if shares_server else None
        expected_bytes = settings.references_budget_bytes
        self._expected = ExpectedOutputs(self._cache, self._budget, expected_bytes)
        self._registry = workers.Workers(self._redis)
        self._drain_s = settings.drain_s
        self._shared_gpus = SharedGpus(settings.launch_memory_bytes)
        self._launch_memory = LaunchMemory(
            ReferenceCache(settings.references_memory_bytes),
            settings.launch_memory_bytes,
            InputsBudget(settings.inputs_gpu_bytes, settings.inputs_host_bytes),
        )

    async def __aenter__(self) -> Self:
        """Open nothing yet: connections open at their first command."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        for client in {self._redis, self._blocking, self._cache}:
            await client.aclose()

    async def run_until(self, stopped: asyncio.Event) -> None:
        """Offer the toolchains and do jobs; on `stopped` take no more, finish them, and leave.

        What is not done within the settings' `drain_s` is given back.
        """
        if (contexts := await self._contexts(stopped)) is not None:
            await self._work_until(stopped, contexts)

    async def _contexts(self, stopped: asyncio.Event) -> list[CompileContext] | None:
        """Prepare for work as soon as the store is there; None when it is to stop before."""

        async def prepare() -> list[CompileContext]:
            return [
                await once_available(partial(self._context_of, each)) for each in self._branches
            ]

        preparing = asyncio.create_task(prepare())
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({preparing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        preparing.cancel()
        stopping.cancel()
        await asyncio.gather(preparing, stopping, return_exceptions=True)
        return None if preparing.cancelled() else preparing.result()

    async def _work_until(self, stopped: asyncio.Event, contexts: Sequence[CompileContext]) -> None:
        toolchains = [context.toolchain for context in contexts]
        replaced = ReplacedToolchains(self._redis, partial(of_kind, KIND), contexts, _lanes_of)
        slots = self._slots(replaced)
        launches = LaunchWorker(
            launch_worker_of(self._name, toolchains[0], self._branches[0], self._slot_count),
            self._redis,
            self._blocking,
            self._children,
            contexts[0],
            self._lease_s,
            self._expected,
            self._launch_memory.references,
        )
        gpus = self._gpus(contexts[0])
        sweeps = self._sweeps(contexts[0])
        programs = self._programs(contexts[0])
        reaper = self._attempts(f"{self._name}.reaper")
        beat = partial(self._beat, toolchains, slots, programs)
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(slots.run()),
                group.create_task(launches.run()),
                group.create_task(gpus.run()),
                group.create_task(programs.run()),
                group.create_task(Revocations(self._blocking, slots.revoke).run()),
                group.create_task(every(HEARTBEAT_S, beat)),
                group.create_task(every(HEARTBEAT_S, replaced.look)),
                group.create_task(reap_for_all(reaper, _lapsed)),
            ]
            driving = group.create_task(sweeps.run())
            if self._budget is not None:
                tasks.append(group.create_task(every(SWEEP_S, self._budget.sweep)))
            versions = ", ".join(toolchain.triton for toolchain in toolchains)
            logger.info("ready: Triton %s, %d slots", versions, slots.count)
            await stopped.wait()
            driving.cancel()  # another worker goes on with what this one waits for
            await self._drain(slots, launches, gpus, programs)
            for task in tasks:
                task.cancel()
        await leave(self._registry, self._name)

    async def _drain(self, *parts: Slots | LaunchWorker | GpuWorker | ProgramWorker) -> None:
        try:
            async with asyncio.timeout(self._drain_s):
                await asyncio.gather(*(part.drain() for part in parts))
        except TimeoutError:
            logger.info("jobs that are not done after %g s are given back", self._drain_s)

    def _gpus(self, context: CompileContext) -> GpuWorker:
        compilations = Compilations(self._cache, self._budget)
        return GpuWorker(
            self._name,
            self._redis,
            self._blocking,
            self._children,
            context,
            compilations,
            self._lease_s,
            self._expected,
            self._launch_memory,
            self._shared_gpus,
        )

    def _sweeps(self, context: CompileContext) -> SweepWorker:
        return SweepWorker(
            self._name,
            self._redis,
            self._blocking,
            Compilations(self._cache, self._budget),
            Derived(self._cache, "derivation", self._budget),
            context,
            self._lease_s,
        )

    def _programs(self, context: CompileContext) -> ProgramWorker:
        return ProgramWorker(
            self._name,
            self._redis,
            self._blocking,
            self._program_children,
            self._children,
            context,
            Compilations(self._cache, self._budget),
            self._slot_count,
            self._lease_s,
            self._shared_gpus,
        )

    async def _context_of(self, branch: ToolchainContext) -> CompileContext:
        """Find out what the toolchain is, offer it, and lay out what its jobs need."""
        offered = workers.Toolchains(self._redis)
        toolchain = await identify(branch.pool, branch.level, offered)
        await offered.register(toolchain.id, toolchain.model_dump_json().encode())
        blobs = Blobs(self._cache, self._budget)
        fronts = Derived(self._cache, "front", self._budget)
        backs = Derived(self._cache, "back", self._budget)
        return CompileContext(
            branch.pool,
            toolchain,
            blobs,
            fronts,
            backs,
            share_namespaces=self._share_namespaces,
            ir_bounds=self._ir_bounds,
        )

    def _slots(self, replaced: ReplacedToolchains) -> Slots:
        compilations = Compilations(self._cache, self._budget)
        events, counters = Events(self._redis), Counters(self._redis)
        forget = partial(invalidate, self._redis)

        inspections = Derived(self._cache, "inspection", self._budget)
        derivations = Derived(self._cache, "derivation", self._budget)

        async def do(claim: Claim, attempts: JobConsumer) -> None:
            context = replaced.context_of(claim.lane)
            if kind_of(claim.lane) == "inspect":
                await do_inspection(claim, attempts, context, inspections)
            elif kind_of(claim.lane) == "derive":
                await do_derivation(claim, attempts, context, derivations)
            else:
                await do_job(
                    claim, JobContext(attempts, compilations, events, counters, forget, context)
                )

        return Slots(
            self._attempts(self._name),
            replaced.lanes,
            do,
            self._slot_count,
            self._lease_s,
            has_reserve=True,
        )

    def _attempts(self, consumer: str) -> JobConsumer:
        limits = QueueLimits(lease_ms=int(self._lease_s * 1000))
        return JobConsumer(self._redis, self._blocking, consumer, limits)

    async def _beat(
        self, toolchains: Sequence[Toolchain], slots: Slots, programs: ProgramWorker
    ) -> None:
        own = self._branches[0]
        worker = workers.Worker(
            id=self._name,
            kind=KIND,
            toolchain=toolchains[0].id,
            toolchains=[toolchain.id for toolchain in toolchains],
            device=None,
            sandbox=own.level,
            slots=slots.count,
            busy=slots.busy,
            sandbox_report=own.report.to_dict() | {"recording": programs.recording.to_dict()},
            programs=programs.offered,
        )
        await self._registry.beat(worker)


def _lanes_of(toolchain_id: str) -> list[str]:
    return [lane(toolchain_id) for lane in LANES]


def _lapsed(claim: Claim) -> bytes:
    kind, reason = kind_of(claim.lane), claim.dead_letter or EXHAUSTED
    if kind == PROGRAMS:
        return lapsed_program(claim.id, claim.payload, reason)
    return lapsed_record(kind, claim.id, claim.payload, reason)
