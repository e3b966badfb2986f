"""One worker: its connections, and the consumers that it runs.

Nothing is kept in this process that cannot be lost: a job whose worker dies is done by another.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Self

from jobs.core_kinds import CORE_KINDS
from jobs.kind import by_name, expired
from jobs.loop_steps import measure_lag
from jobs.submission import JobClient
from jobs.work_metrics import WorkMetrics
from store import workers
from store.blobs import Blobs
from store.bucket import Bucket
from store.budget import Budget
from store.compilations import Compilations, Derived
from store.connection import connect, connect_blocking, refuse_sharded_cluster
from store.errors import StoreUnavailable
from store.expected_outputs import ExpectedOutputs
from store.jobs.consumer import reap_for_all
from store.jobs.producer import JobProducer
from store.jobs.waiting import ResultWaiter
from store.usage import UsageAccounts
from worker.compile.compile import CompileContext
from worker.compile.compile_consumer import compile_consumer
from worker.compile.toolchain_identity import identify
from worker.consumer import Queue
from worker.feature import ChildSettings, Part, RunningFeature, WorkerFeature
from worker.gpu.supervisor.launcher_process import InputsBudget
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.launch.cpu_consumer import cpu_consumer
from worker.launch.gpu.gpu_consumer import GpuConsumers
from worker.launch.launch_children import Children
from worker.launch.reference_cache import ReferenceCache
from worker.pool.sandbox_report import ToolchainContext
from worker.settings import WorkerSettings, new_name
from worker.slots import SWEEP_S, every, once_available
from worker.worker_context import MemoryBudget, WorkerContext

PUBLISH_S = 5.0
logger = logging.getLogger(__name__)


class WorkerProcess:
    """One worker on any number of toolchains; `async with` it, then `run_until` it shall stop.

    The first of `branches` is the one it launches with, and the default of a new deployment.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        branches: Sequence[ToolchainContext],
        children: Children,
        features: Sequence[WorkerFeature],
        feature_children: ChildSettings,
    ) -> None:
        self._name = new_name()
        self._settings = settings
        self._branches = branches
        self._children = children
        self._features = features
        self._feature_children = feature_children
        of_features = (kind for feature in features for kind in feature.kinds)
        self._kinds = by_name([*CORE_KINDS, *of_features])
        self._metrics = WorkMetrics()
        self._redis = connect(settings.redis_url, ack_replicas=settings.ack_replicas)
        self._blocking = connect_blocking(settings.redis_url)
        self._cache = connect(settings.cache_url) if settings.cache_url else self._redis
        shares_server = settings.cache_url is None
        self._budget = Budget(self._cache, settings.cache_budget_bytes) if shares_server else None
        bucket = Bucket(settings.blobs_url) if settings.blobs_url else None
        self._blobs = Blobs(self._cache, self._budget, bucket)

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
        if (toolchains := await self._toolchains(stopped)) is not None:
            await self._work_until(stopped, toolchains)

    async def _toolchains(self, stopped: asyncio.Event) -> list[CompileContext] | None:
        """Prepare for work as soon as the store is there; None when it is to stop before."""

        async def prepare() -> list[CompileContext]:
            await once_available(partial(refuse_sharded_cluster, self._redis))
            return [
                await once_available(partial(self._toolchain_of, each)) for each in self._branches
            ]

        preparing = asyncio.create_task(prepare())
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({preparing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        preparing.cancel()
        stopping.cancel()
        await asyncio.gather(preparing, stopping, return_exceptions=True)
        return None if preparing.cancelled() else preparing.result()

    async def _work_until(
        self, stopped: asyncio.Event, toolchains: Sequence[CompileContext]
    ) -> None:
        context = self._context(toolchains[0])
        async with AsyncExitStack() as started:
            running = [
                await started.enter_async_context(feature.start(context, self._feature_children))
                for feature in self._features
            ]
            await self._run_parts(stopped, context, toolchains, running)

    async def _run_parts(
        self,
        stopped: asyncio.Event,
        context: WorkerContext,
        toolchains: Sequence[CompileContext],
        running: Sequence[RunningFeature],
    ) -> None:
        def described(worker: workers.Worker) -> workers.Worker:
            for feature in running:
                worker = worker if feature.describe is None else feature.describe(worker)
            return worker

        inspections = Derived(self._blobs, "inspection")
        parts: list[Part] = [
            compile_consumer(context, toolchains, inspections, described),
            cpu_consumer(context),
            GpuConsumers(context),
            *(feature.part for feature in running if feature.part is not None),
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(context.client.results.run()),
                group.create_task(self._reap(context.queue)),
                group.create_task(every(PUBLISH_S, self._publish)),
                group.create_task(measure_lag(self._metrics.loop_lag.labels("worker"))),
                *(group.create_task(part.run()) for part in parts),
            ]
            if self._budget is not None:
                tasks.append(group.create_task(every(SWEEP_S, self._budget.sweep)))
            versions = ", ".join(each.toolchain.triton for each in toolchains)
            logger.info("ready: Triton %s, %d slots", versions, context.slots)
            await stopped.wait()
            await self._drain(parts)
            for task in tasks:
                task.cancel()
        with contextlib.suppress(StoreUnavailable):  # what is new since is not counted
            await self._publish()

    async def _reap(self, queue: Queue) -> None:
        reaper = queue.attempts(f"{self._name}.reaper")
        await reap_for_all(reaper, partial(expired, self._kinds), self._metrics.note_expired)

    async def _publish(self) -> None:
        await self._metrics.publish(workers.Counters(self._redis), UsageAccounts(self._redis))

    async def _drain(self, parts: Sequence[Part]) -> None:
        drain_s = self._settings.drain_s
        try:
            async with asyncio.timeout(drain_s):
                await asyncio.gather(*(part.drain() for part in parts))
        except TimeoutError:
            logger.info("stopping; unfinished jobs go back to the queue after %g s", drain_s)

    def _context(self, compiling: CompileContext) -> WorkerContext:
        settings = self._settings
        return WorkerContext(
            name=self._name,
            queue=Queue(self._redis, self._blocking, settings.lease_s, self._metrics),
            slots=settings.slots,
            branch=self._branches[0],
            compiling=compiling,
            children=self._children,
            client=JobClient(JobProducer(self._redis), ResultWaiter(self._redis, self._blocking)),
            compilations=Compilations(self._blobs),
            derivations=Derived(self._blobs, "derivation"),
            expected=ExpectedOutputs(self._cache, self._budget, settings.references_budget_bytes),
            memory=MemoryBudget(
                ReferenceCache(settings.references_memory_bytes),
                settings.launch_memory_bytes,
                InputsBudget(settings.inputs_gpu_bytes, settings.inputs_host_bytes),
            ),
            gpus=SharedGpus(settings.launch_memory_bytes),
            prove_launch=next(
                filter(None, (feature.prove_launch for feature in self._features)), None
            ),
            prove_kernel=next(
                filter(None, (feature.prove_kernel for feature in self._features)), None
            ),
            program_launcher=next(
                filter(None, (feature.program_launcher for feature in self._features)), None
            ),
        )

    async def _toolchain_of(self, branch: ToolchainContext) -> CompileContext:
        """Find out what the toolchain is, offer it, and lay out what its jobs need."""
        offered = workers.Toolchains(self._redis)
        toolchain = await identify(branch.pool, branch.level, offered)
        await offered.register(toolchain.id, toolchain.model_dump_json().encode())
        return CompileContext(
            branch.pool,
            toolchain,
            self._blobs,
            Derived(self._blobs, "front"),
            Derived(self._blobs, "back"),
            share_namespaces=self._settings.share_namespaces,
            ir_bounds=self._settings.ir_bounds,
        )
