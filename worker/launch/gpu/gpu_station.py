"""The launches of one GPU, from the queue to their records.

Many are being prepared or compared at a time, and the GPU's turn is taken by one that is ready.
Whatever needs compiling is an ordinary compile job, which any worker may do. A launch that ended in
a fault without a line is run once more under memcheck after it was answered. A station stops for
good when its GPU is drained; what it has not finished goes to other workers.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from launch.request.launch_job import LaunchJob
from launch.request.launch_request import LaunchRequest
from store import workers
from store.connection import StoreClient
from store.errors import StoreUnavailable
from store.events import Events
from store.expected_outputs import ExpectedOutputs
from store.jobs.consumer import JobConsumer, Revocations
from store.jobs.types import Claim, Priority, QueueLimits, device_lane
from store.launches import Amendments, Launches
from worker.bytes_in_flight import BytesInFlight
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.gpu.launcher.launcher_walls import LAYERS
from worker.gpu.supervisor.launchers import DeviceDrained, DeviceState
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.gpu.tools.installed_tools import MEMCHECK
from worker.launch.do_launch import LaunchContext, do_launch
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.gpu.tool_reruns import (
    UnexplainedFault,
    UnexplainedFaults,
    explain_fault,
    report_no_rerun,
)
from worker.launch.kernel_source import KernelSource
from worker.launch.launch_children import ChildPlace, Children
from worker.launch.reference_cache import ReferenceCache
from worker.slots import HEARTBEAT_S, Slots, every, leave
from worker.turns import Places

SLOTS_PER_GPU = 16
"""Launches that need nobody else: they wait for the GPU, are on it, or are being compared."""
MOST_ASIDE = 240
"""Beside them, those that wait for a compile job, or for a child that reads or calculates."""
MOST_RERUNS = 2
"""Reruns under memcheck that wait or run: each takes the GPU's turn, and faults are cheap."""
GRACE_S = 10.0
"""What launches that need the drained GPU no more may take to be handed in."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StationContext:
    """What all stations of a worker share."""

    redis: StoreClient
    blocking: StoreClient
    children: Children
    compiling: CompileContext
    lease_s: float
    expected: ExpectedOutputs
    remembered: ReferenceCache
    in_flight: BytesInFlight
    places: Places
    """Of the children that launches wait for: about as many as there are processors."""
    gpus: SharedGpus
    sources: LRUCache[KernelSource] = field(default_factory=LRUCache)


class GpuStation:
    """Does the launches of one GPU, under the worker's id `name`."""

    def __init__(
        self, name: str, facts: dict[str, Any], gpu: GpuContext, context: StationContext
    ) -> None:
        self._name = name
        self._target, self._model = facts["target"], facts["model"]
        self._gpu = gpu
        self._context = context
        self._launches, self._events = Launches(context.redis), Events(context.redis)
        self._registry = workers.Workers(context.redis)
        self._amendments = Amendments(context.redis)
        self._working: set[int] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._reruns: set[asyncio.Task[None]] = set()
        self._lanes = context.children.lanes(device_lane(self._target, self._model))
        limits = QueueLimits(lease_ms=int(context.lease_s * 1000))
        attempts = JobConsumer(context.redis, context.blocking, name, limits)
        self._slots = Slots(
            attempts,
            self._lanes,
            self._do,
            SLOTS_PER_GPU,
            context.lease_s,
            has_reserve=True,
            most_aside=MOST_ASIDE,
        )

    async def run(self) -> None:
        """Work until cancelled, or until the GPU is drained."""
        drained = asyncio.create_task(self._gpu.launchers.until_drained(self._gpu.ordinal))
        work = asyncio.create_task(self._work())
        try:
            await asyncio.wait({drained, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                logger.error("GPU %d is drained: %s", self._gpu.ordinal, drained.result())
                await self._let_finish()
        finally:
            tasks = {drained, work, *self._reruns}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await leave(self._registry, self._name)
        if not work.cancelled() and (error := work.exception()):
            raise error

    async def drain(self) -> None:
        """Take no further launch, and return when those that run have ended."""
        await self._slots.drain()

    async def _work(self) -> None:
        logger.info("GPU %d: %s", self._gpu.ordinal, self._lanes[0])
        async with asyncio.TaskGroup() as group:
            group.create_task(self._slots.run())
            group.create_task(Revocations(self._context.blocking, self._slots.revoke).run())
            group.create_task(every(HEARTBEAT_S, self._beat))
            group.create_task(every(0, self._tell_of_programs))

    async def _tell_of_programs(self) -> None:
        """Say at once that programs are taken, or no more: a service that is asked looks for it."""
        await self._context.gpus.programs_changed()
        await self._beat()

    @property
    def _state(self) -> DeviceState:
        ordinal = self._gpu.ordinal
        return next(d for d in self._gpu.launchers.devices if d.ordinal == ordinal)

    async def _beat(self) -> None:
        state = self._state
        if state.drained is not None:
            return
        layers = state.facts.sandbox if state.facts is not None else ()
        missing = [layer for layer in LAYERS if layer not in layers]
        worker = workers.Worker(
            id=self._name,
            kind="launch",
            toolchain=None,
            device=f"{self._target} {self._model}",
            sandbox="launcher",
            slots=self._slots.count,
            busy=self._slots.busy,
            sandbox_report={"level": "launcher", "layers": list(layers), "missing": missing},
            references=self._context.children.languages,
            tools=list(state.tools),
            programs=self._context.gpus.programs_of(self._gpu.ordinal),
            ceilings=state.ceilings.to_json() if state.ceilings is not None else None,
        )
        await self._registry.beat(worker)

    async def _do(self, claim: Claim, attempts: JobConsumer) -> None:
        """Do a launch; one that needs a drained GPU waits here until its slot gives it back."""
        faults = (
            UnexplainedFaults(claim.id, self._amendments) if MEMCHECK in self._state.tools else None
        )
        self._working.add(claim.token)
        self._idle.clear()
        try:
            aside = _Aside(self._slots.aside)
            gpu = replace(self._gpu, faults=faults, aside=aside.step)
            await self._launch(claim, attempts, gpu, aside)
        except DeviceDrained:
            self._leave(claim)
            await asyncio.Event().wait()
        finally:
            self._leave(claim)
        if faults is not None and faults.first is not None:
            await self._explain(claim, faults.first)

    def _leave(self, claim: Claim) -> None:
        self._working.discard(claim.token)
        if not self._working:
            self._idle.set()

    async def _launch(
        self, claim: Claim, attempts: JobConsumer, gpu: GpuContext, aside: "_Aside"
    ) -> None:
        state, context = self._state, self._context
        if state.drained is not None:
            raise DeviceDrained(state.drained)
        launch_context = LaunchContext(
            attempts,
            self._launches,
            self._events,
            context.compiling.blobs,
            context.compiling,
            context.children,
            self._registry,
            context.expected,
            gpu,
            known_sources=context.sources,
            remembered=context.remembered,
            places=partial(_child_place, context.places, aside),
            in_flight=context.in_flight,
        )
        await do_launch(claim, launch_context)

    async def _explain(self, claim: Claim, fault: UnexplainedFault) -> None:
        gpu = self._gpu
        if len(self._reruns) >= MOST_RERUNS:
            await report_no_rerun(claim, fault, gpu.jobs, self._amendments)
            return
        rerun = explain_fault(claim, fault, gpu.launchers, gpu.ordinal, gpu.jobs, self._amendments)
        task = asyncio.create_task(_log_refusals(rerun))
        self._reruns.add(task)
        task.add_done_callback(self._reruns.discard)

    async def _let_finish(self) -> None:
        """Wait for the launches that are past the GPU; the others wait for us."""
        with contextlib.suppress(TimeoutError):  # then they are given back as well
            async with asyncio.timeout(GRACE_S):
                await self._idle.wait()


class _Aside:
    """One launch out of its slot, while at least one part of it waits for others."""

    def __init__(self, leave_slot: Callable[[], AbstractContextManager[None]]) -> None:
        self._leave_slot = leave_slot
        self._waiting = 0
        self._left: AbstractContextManager[None] | None = None

    @contextmanager
    def step(self) -> Iterator[None]:
        """Be out of the slot while the block runs."""
        if self._left is None:
            self._left = self._leave_slot()
            self._left.__enter__()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                left, self._left = self._left, None
                left.__exit__(None, None, None)


def _child_place(
    places: Places, aside: _Aside, job: LaunchJob, request: LaunchRequest
) -> ChildPlace:
    @asynccontextmanager
    async def place() -> AsyncIterator[None]:
        is_batch = Priority(request.priority) is Priority.BATCH
        with aside.step():
            async with places.turn(job.caller, is_batch=is_batch):
                yield

    return place


async def _log_refusals(rerun: Coroutine[Any, Any, None]) -> None:
    try:
        await rerun
    except StoreUnavailable as error:
        logger.warning("what a rerun under memcheck found is not in the launch: %s", error)
