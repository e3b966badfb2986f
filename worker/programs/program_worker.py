"""The part of a worker that records, compiles and replays programs, where torch is installed.

It takes none before a recording that it made of its own showed that recording works here.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from store.compilations import Compilations
from store.connection import StoreClient
from store.events import Events
from store.jobs.consumer import JobConsumer, Revocations
from store.jobs.producer import JobProducer
from store.jobs.types import Claim, QueueLimits, programs_lane
from store.jobs.waiting import ResultWaiter
from store.programs import Programs
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.gpu.supervisor.launchers import DeviceDrained, Launchers
from worker.gpu.supervisor.shared_gpus import SharedGpus
from worker.launch.kernel_source import KernelSource
from worker.launch.launch_children import Children
from worker.pool.zygote_client import ZygoteError
from worker.programs.do_program import do_program
from worker.programs.gpu.gpu_replay import ProgramGpu
from worker.programs.gpu.known_references import KnownReferences
from worker.programs.gpu.program_station import ProgramStation, ProgramStationContext, offer
from worker.programs.program_attempt import ProgramContext
from worker.programs.program_children import ProgramChildren
from worker.programs.recorder_test import recorder_fault
from worker.programs.recording import ProgramTape
from worker.replaced_toolchains import ReplacedToolchains, doing_programs
from worker.slots import HEARTBEAT_S, Slots, every

NO_TORCH = "torch is not installed in this worker's environment"
IS_BEING_TRIED = "recording is being tried"
MOST_TAPES_BYTES = 256 << 20
"""Of references' tapes that a worker remembers, as they lie in its memory."""

MOST_REFERENCES_BYTES = 1 << 30
"""Of what references returned on GPUs."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RecordingOffer:
    """Whether this worker records programs; `reason` says why not."""

    reason: str | None
    is_being_tried: bool = False
    tries_gpus: bool = False
    """Whether it is finding out if programs run on the GPUs of its machine."""

    def to_dict(self) -> dict[str, Any]:
        """Return the form in which workers publish it."""
        return {
            "offered": self.reason is None,
            "reason": self.reason,
            "is_being_tried": self.is_being_tried,
            "tries_gpus": self.tries_gpus,
        }


class ProgramWorker:
    """Does programs of one toolchain: so many at a time as there are slots."""

    def __init__(
        self,
        name: str,
        redis: StoreClient,
        blocking: StoreClient,
        children: ProgramChildren | None,
        launch_children: Children,
        compiling: CompileContext,
        compilations: Compilations,
        slots: int,
        lease_s: float,
        gpus: SharedGpus,
    ) -> None:
        """Begin nothing yet; `gpus` are those that programs run on, once they are there."""
        self._name, self._gpus = name, gpus
        self._stations: list[ProgramStation] = []
        self._station_context = ProgramStationContext(
            redis, blocking, compiling, self._do_on, slots, lease_s
        )
        limits = QueueLimits(lease_ms=int(lease_s * 1000))
        attempts = JobConsumer(redis, blocking, f"{name}-programs", limits)
        self._replaced = ReplacedToolchains(
            redis, partial(doing_programs, None), [compiling], _lanes_of
        )
        has_torch = children is not None
        self.recording = RecordingOffer(
            IS_BEING_TRIED if has_torch else NO_TORCH, is_being_tried=has_torch
        )
        self._toolchain_id = compiling.toolchain.id
        self._children = children
        self._blocking = blocking
        lanes = self._replaced.lanes
        self._slots = Slots(attempts, lanes, self._do, slots, lease_s, has_reserve=True)
        self._finished = ResultWaiter(redis, blocking)
        self._launch_children, self._compiling = launch_children, compiling
        self._stores = (Programs(redis), Events(redis), JobProducer(redis), compilations)
        self._sources = LRUCache[KernelSource]()
        self._tapes = LRUCache[ProgramTape](MOST_TAPES_BYTES)
        self._references = KnownReferences(MOST_REFERENCES_BYTES)

    @property
    def offered(self) -> list[str]:
        """The toolchains beside which it records programs."""
        return [self._toolchain_id] if self.recording.reason is None else []

    async def run(self) -> None:
        """Try to record, and then do programs until cancelled, where that works."""
        if self._children is None:
            return
        async with asyncio.TaskGroup() as group:
            recorder = group.create_task(self._fault(self._children))
            gpus = await self._gpus.started()
            facts_of_all = gpus.facts if gpus is not None else ()
            # beside the recorder, as each of them takes seconds
            trying = [group.create_task(self._tried(facts)) for facts in facts_of_all]
            fault = await recorder
            self.recording = RecordingOffer(fault, tries_gpus=fault is None and bool(trying))
            if fault is not None:
                logger.error("programs are not recorded here: %s", fault)
                for task in trying:
                    task.cancel()
                return
            logger.info("programs are recorded here")
            group.create_task(self._finished.run())
            group.create_task(self._slots.run())
            group.create_task(Revocations(self._blocking, self._slots.revoke).run())
            group.create_task(every(HEARTBEAT_S, self._replaced.look))
            group.create_task(every(HEARTBEAT_S, self._forget_old_references))
            for tried in asyncio.as_completed(trying):
                if (station := await tried) is not None:
                    self._stations.append(station)
                    group.create_task(offer(station, self._gpus, self._toolchain_id))
            self.recording = RecordingOffer(None)

    async def drain(self) -> None:
        """Take no further program, and return when those that run have ended."""
        if self.offered:
            stations = (station.drain() for station in self._stations)
            await asyncio.gather(self._slots.drain(), *stations)

    async def _forget_old_references(self) -> None:
        self._references.forget_old()

    async def _tried(self, facts: Mapping[str, Any]) -> ProgramStation | None:
        """Return the station of a GPU, None where no launcher of programs starts on it."""
        gpus, ordinal = await self._gpus.started(), facts["ordinal"]
        assert gpus is not None
        fault = await _gpu_fault(gpus.launchers, ordinal)
        if fault is not None:
            logger.error("programs do not run on GPU %d: %s", ordinal, fault)
            return None
        gpu = ProgramGpu(gpus.launchers, ordinal, self._gpus.in_flight)
        name = f"{self._name}-gpu{ordinal}-programs"
        return ProgramStation(name, gpu, facts["model"], self._station_context)

    async def _fault(self, children: ProgramChildren) -> str | None:
        try:
            return await recorder_fault(await children.recorder.started())
        except ZygoteError as error:
            return str(error)
        except Exception as error:
            # whatever is wrong with recording, all else that this worker does goes on
            logger.exception("trying to record a program")
            return f"{type(error).__name__}: {error}"
        finally:
            await children.recorder.close()  # until somebody posts a program

    async def _do(self, claim: Claim, attempts: JobConsumer) -> None:
        await self._do_on(claim, attempts, None)

    async def _do_on(self, claim: Claim, attempts: JobConsumer, gpu: ProgramGpu | None) -> None:
        """Do a program on a GPU, None: on the CPU device."""
        assert self._children is not None
        programs, events, jobs, compilations = self._stores
        context = ProgramContext(
            attempts=attempts,
            programs=programs,
            events=events,
            jobs=jobs,
            finished=self._finished,
            compilations=compilations,
            compiling=self._compiling,
            children=self._children,
            comparing=self._launch_children.kernels,
            batch_elements=self._launch_children.batch_elements,
            sources=self._sources,
            tapes=self._tapes,
            references=self._references,
            gpu=gpu,
        )
        await do_program(claim, context)


async def _gpu_fault(launchers: Launchers, ordinal: int) -> str | None:
    """Return why programs do not run on a GPU, None where they do."""
    try:
        await launchers.try_programs(ordinal)
    except DeviceDrained as drained:
        return str(drained)
    return None


def _lanes_of(toolchain_id: str) -> list[str]:
    return [programs_lane(toolchain_id)]
