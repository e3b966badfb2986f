"""A compile worker: its connections, its slots, and what it does beside its jobs.

Nothing is kept in this process that cannot be lost: a job whose worker dies is done by another.
"""

import asyncio
import logging
import os
import secrets
import socket
from functools import partial
from types import TracebackType
from typing import Self

from compiler.toolchain import Toolchain
from store import workers
from store.blobs import Blobs
from store.budget import Budget
from store.compilations import Compilations
from store.connection import connect, connect_blocking
from store.derived import Derived
from store.events import Events
from store.invalidation import invalidate
from store.jobs.attempts import Attempts
from store.jobs.revocations import Revocations
from store.jobs.words import Claim, Limits
from store.lanes import INSPECT, compile_lane, inspect_lane
from worker import lapse
from worker.compile import Bench
from worker.compile_job import Desk, do_job
from worker.identity import identify
from worker.inspect_job import do_inspection
from worker.launch.launch_worker import LaunchWorker, launch_worker_of
from worker.pool import Pool
from worker.sandbox_report import SandboxReport
from worker.settings import WorkerSettings
from worker.slots import Slots
from worker.upkeep import HEARTBEAT_S, REAP_S, SWEEP_S, every

logger = logging.getLogger(__name__)


class CompileWorker:
    """One worker on one toolchain; `async with` it, then `run_until` it shall stop."""

    def __init__(
        self, settings: WorkerSettings, pool: Pool, launch_pool: Pool, report: SandboxReport
    ) -> None:
        self._name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
        self._pool = pool
        self._launch_pool = launch_pool
        self._report = report
        self._level = "unsafe" if settings.sandbox == "unsafe" else report.level
        self._slot_count = settings.slots
        self._lease_s = settings.lease_s
        self._redis = connect(settings.redis_url)
        self._blocking = connect_blocking(settings.redis_url)
        self._cache = connect(settings.cache_url) if settings.cache_url else self._redis
        shares_server = settings.cache_url is None
        self._budget = Budget(self._cache, settings.cache_budget_bytes) if shares_server else None
        self._registry = workers.Workers(self._redis)
        self._reaper = self._attempts("reaper")

    async def __aenter__(self) -> Self:
        """Open nothing yet: connections open at their first command."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        for client in {self._redis, self._blocking, self._cache}:
            await client.aclose()

    async def run_until(self, stopped: asyncio.Event) -> None:
        """Offer the toolchain and do jobs; on `stopped`, give unfinished jobs back and leave."""
        toolchain = await identify(self._pool, self._level)
        offered = workers.Toolchains(self._redis)
        await offered.offer(toolchain.id, toolchain.model_dump_json().encode())
        bench = self._bench(toolchain)
        slots = self._slots(bench)
        launches = LaunchWorker(
            launch_worker_of(self._name, toolchain, self._level, self._slot_count),
            self._redis,
            self._blocking,
            self._launch_pool,
            bench,
            self._lease_s,
        )
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(slots.run()),
                group.create_task(launches.run()),
                group.create_task(Revocations(self._blocking, slots.revoke).run()),
                group.create_task(every(HEARTBEAT_S, partial(self._beat, toolchain, slots))),
                group.create_task(every(REAP_S, partial(self._reap, toolchain))),
            ]
            if self._budget is not None:
                tasks.append(group.create_task(every(SWEEP_S, self._budget.sweep)))
            logger.info("ready: Triton %s, %d slots", toolchain.triton, slots.count)
            await stopped.wait()
            for task in tasks:
                task.cancel()
        await self._registry.leave(self._name)

    def _bench(self, toolchain: Toolchain) -> Bench:
        blobs = Blobs(self._cache, self._budget)
        fronts = Derived(self._cache, "front", self._budget)
        backs = Derived(self._cache, "back", self._budget)
        return Bench(self._pool, toolchain, blobs, fronts, backs)

    def _slots(self, bench: Bench) -> Slots:
        compilations = Compilations(self._cache, self._budget)
        events = Events(self._redis, self._blocking)
        forget = partial(invalidate, self._redis)

        inspections = Derived(self._cache, "inspection", self._budget)

        async def do(claim: Claim, attempts: Attempts) -> None:
            if claim.lane.startswith(INSPECT):
                await do_inspection(claim, attempts, bench.pool, inspections)
            else:
                await do_job(claim, Desk(attempts, compilations, events, forget, bench))

        lanes = [lane(bench.toolchain.id) for lane in (compile_lane, inspect_lane)]
        return Slots(self._attempts, lanes, do, self._slot_count, self._lease_s)

    def _attempts(self, part: object) -> Attempts:
        limits = Limits(lease_ms=int(self._lease_s * 1000))
        return Attempts(self._redis, self._blocking, f"{self._name}.{part}", limits)

    async def _beat(self, toolchain: Toolchain, slots: Slots) -> None:
        worker = workers.Worker(
            id=self._name,
            kind="compile",
            toolchain=toolchain.id,
            device=None,
            sandbox=self._level,
            slots=slots.count,
            busy=slots.busy,
            sandbox_report=self._report.to_dict(),
        )
        await self._registry.beat(worker)

    async def _reap(self, toolchain: Toolchain) -> None:
        for claim in await self._reaper.reap():
            await lapse.end(claim, self._reaper, toolchain)
