"""The launches of one GPU, from the queue to their records.

Many are being prepared or compared at a time, and the GPU's turn is taken by one that is ready.
Whatever needs compiling is an ordinary compile job, which any worker may do. A launch that ended in
a fault without a line is run once more under memcheck after it was answered. Its consumer stops for
good when the GPU is cordoned; what it has not finished goes to other workers.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from jobs.core_kinds import LAUNCH
from launch.request.launch_job import LaunchJob
from store import workers
from store.errors import StoreUnavailable
from store.events import Events
from store.jobs.types import Claim, Priority, device_lane
from store.launches import Amendments, Launches
from worker.bytes_in_flight import BytesInFlight
from worker.compile.lru_cache import LRUCache
from worker.consumer import Attempt, Consumer, Handler, run_until
from worker.fair_queue import FairSemaphore
from worker.gpu.launcher.launcher_sandbox import LAYERS
from worker.gpu.supervisor.devices import NoDevices, find_devices
from worker.gpu.supervisor.launchers import DeviceCordoned, DeviceState, LauncherCommand, Launchers
from worker.gpu.tools.installed_tools import MEMCHECK
from worker.launch.do_launch import LaunchContext, do_launch
from worker.launch.gpu.compiled_kernels import CompiledKernels
from worker.launch.gpu.gpu_run import GpuContext
from worker.launch.gpu.tool_reruns import (
    UnexplainedFault,
    UnexplainedFaults,
    explain_fault,
    report_no_rerun,
)
from worker.launch.kernel_source import KernelSource
from worker.launch.launch_children import ChildSlot
from worker.slots import every
from worker.worker_context import WorkerContext

SLOTS_PER_GPU = 16
"""Launches that wait for the GPU, run on it, or are being compared."""
MAX_YIELDED = 240
"""In addition, those that wait for a compile job, or for a child that reads or calculates."""
MAX_RERUNS = 2
"""Reruns under memcheck that wait or run: each takes the GPU's turn, and faults are cheap."""
GRACE_S = 10.0
"""Time for launches that no longer need the cordoned GPU to store their results."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GpuShare:
    """State shared by the launches on all GPUs of a worker."""

    in_flight: BytesInFlight
    child_slots: FairSemaphore
    """Slots of the children that launches wait for: about one per processor."""
    sources: LRUCache[KernelSource] = field(default_factory=LRUCache)


class GpuConsumer:
    """Does the launches of one GPU, under the worker's id `name`."""

    def __init__(
        self,
        name: str,
        facts: dict[str, Any],
        gpu: GpuContext,
        context: WorkerContext,
        share: GpuShare,
    ) -> None:
        self._target, self._model = facts["target"], facts["model"]
        self._gpu, self._context, self._share = gpu, context, share
        redis = context.queue.redis
        self._launches, self._events = Launches(redis), Events(redis)
        self._registry, self._amendments = workers.Workers(redis), Amendments(redis)
        self._working: set[int] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._reruns: set[asyncio.Task[None]] = set()
        self._lanes = context.children.lanes(device_lane(self._target, self._model))
        self._consumer = Consumer(
            context.queue,
            name,
            self._lanes,
            [Handler(LAUNCH, self._do)],
            SLOTS_PER_GPU,
            most_yielded=MAX_YIELDED,
            registration=self._registration,
        )

    async def run(self) -> None:
        """Work until cancelled, or until the GPU is cordoned."""
        cordoned = self._gpu.launchers.until_cordoned(self._gpu.ordinal)
        try:
            await run_until(cordoned, self._work(), self._let_finish)
        finally:
            for task in self._reruns:
                task.cancel()
            await asyncio.gather(*self._reruns, return_exceptions=True)

    async def drain(self) -> None:
        """Take no further launch, and return when those that run have ended."""
        await self._consumer.drain()

    async def _work(self) -> None:
        logger.info("GPU %d: %s", self._gpu.ordinal, self._lanes[0])
        async with asyncio.TaskGroup() as group:
            group.create_task(self._consumer.run())
            group.create_task(every(0, self._report_programs))

    async def _report_programs(self) -> None:
        """Publish at once that programs are taken, or no more: the service looks for it."""
        await self._context.gpus.programs_changed()
        await self._consumer.register()

    @property
    def _state(self) -> DeviceState:
        ordinal = self._gpu.ordinal
        return next(d for d in self._gpu.launchers.devices if d.ordinal == ordinal)

    def _registration(self) -> workers.Worker | None:
        state = self._state
        if state.cordoned is not None:
            return None
        layers = state.facts.sandbox if state.facts is not None else ()
        missing = [layer for layer in LAYERS if layer not in layers]
        return workers.Worker(
            id=self._consumer.name,
            kind="launch",
            toolchain=None,
            device=f"{self._target} {self._model}",
            sandbox="launcher",
            slots=self._consumer.count,
            busy=self._consumer.busy,
            sandbox_report={"level": "launcher", "layers": list(layers), "missing": missing},
            references=self._context.children.languages,
            tools=list(state.tools),
            programs=self._context.gpus.programs_of(self._gpu.ordinal),
            ceilings=state.ceilings.to_json() if state.ceilings is not None else None,
        )

    async def _do(self, attempt: Attempt[LaunchJob]) -> None:
        """Do a launch; one that needs a cordoned GPU waits here until its slot gives it back."""
        claim = attempt.claim
        faults = (
            UnexplainedFaults(claim.id, self._amendments) if MEMCHECK in self._state.tools else None
        )
        self._working.add(claim.token)
        self._idle.clear()
        try:
            slot = _LaunchSlot(self._consumer.yield_slot)
            gpu = replace(self._gpu, faults=faults, yield_slot=slot.yield_slot)
            await self._launch(attempt, gpu, slot)
        except DeviceCordoned:
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
        self, attempt: Attempt[LaunchJob], gpu: GpuContext, slot: "_LaunchSlot"
    ) -> None:
        state, context, share = self._state, self._context, self._share
        if state.cordoned is not None:
            raise DeviceCordoned(state.cordoned)
        launch_context = LaunchContext(
            self._launches,
            self._events,
            context.compiling.blobs,
            context.compiling,
            context.children,
            self._registry,
            context.expected,
            gpu,
            known_sources=share.sources,
            remembered=context.memory.references,
            child_slots=partial(_child_slot, share.child_slots, slot),
            in_flight=share.in_flight,
            prove=None if context.prove_launch is None else partial(context.prove_launch, context),
        )
        await do_launch(attempt, launch_context)

    async def _explain(self, claim: Claim, fault: UnexplainedFault) -> None:
        gpu = self._gpu
        if len(self._reruns) >= MAX_RERUNS:
            await report_no_rerun(claim, fault, gpu.client.jobs, self._amendments)
            return
        rerun = explain_fault(
            claim, fault, gpu.launchers, gpu.ordinal, gpu.client.jobs, self._amendments
        )
        task = asyncio.create_task(_log_refusals(rerun))
        self._reruns.add(task)
        task.add_done_callback(self._reruns.discard)

    async def _let_finish(self, why: str) -> None:
        """Wait for the launches that are past the GPU; the others wait for us.

        The launchers have logged whether it is an error.
        """
        logger.info("GPU %d takes no more jobs: %s", self._gpu.ordinal, why)
        with contextlib.suppress(TimeoutError):  # then they are given back as well
            async with asyncio.timeout(GRACE_S):
                await self._idle.wait()


class _LaunchSlot:
    """The slot of one launch, which yields it while at least one part of it waits for others."""

    def __init__(self, yield_slot: Callable[[], AbstractContextManager[None]]) -> None:
        self._yield_slot = yield_slot
        self._waiting = 0
        self._left: AbstractContextManager[None] | None = None

    @contextmanager
    def yield_slot(self) -> Iterator[None]:
        """Give the slot up while the block runs."""
        if self._left is None:
            self._left = self._yield_slot()
            self._left.__enter__()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                left, self._left = self._left, None
                left.__exit__(None, None, None)


def _child_slot(child_slots: FairSemaphore, slot: _LaunchSlot, job: LaunchJob) -> ChildSlot:
    @asynccontextmanager
    async def child_slot() -> AsyncIterator[None]:
        is_batch = Priority(job.priority) is Priority.BATCH
        with slot.yield_slot():
            async with child_slots.turn(job.caller, is_batch=is_batch):
                yield

    return child_slot


async def _log_refusals(rerun: Coroutine[Any, Any, None]) -> None:
    try:
        await rerun
    except StoreUnavailable as error:
        logger.warning("cannot add the findings of a memcheck rerun to the launch: %s", error)


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
