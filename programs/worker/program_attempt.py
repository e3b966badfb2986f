"""One attempt at a program: its settings and pools, the events it sends, the tapes it stores."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.target import parse_target
from jobs.deadline import Deadline
from jobs.submission import JobClient
from launch.request.initializer import MAX_SEED
from programs.program_job import CANDIDATE, CPU_TARGET, REFERENCE, ProgramJob
from programs.program_request import (
    CALLS_OF_A_TRIAL,
    InputsRequest,
    cpu_checks,
)
from programs.receipt import ReceiptValue
from programs.replay.replay_order import Experiment
from programs.stored_programs import Programs
from programs.worker.gpu.gpu_replay import ProgramGpu, ReplayTurn, timing_order
from programs.worker.gpu.program_replays import ProgramReplays, ReferenceReplayCache
from programs.worker.kernel_compiles import KernelCompiles
from programs.worker.kernel_jobs import TTIR, KernelJobs
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_children import ProgramChildren
from programs.worker.program_kernels import ProgramKernels
from programs.worker.program_outcome import launches_of, written_work
from programs.worker.program_recordings import ProgramTape, ProgramTexts, RecordedCase, Recordings
from programs.worker.replay_child import ProgramToReplay, ReplaySettings, replay
from programs.worker.replayed import Replayed
from store.compilations import Compilations
from store.errors import StoreUnavailable
from store.events import Events
from store.jobs.types import Claim, Priority
from worker.compile.compile import CompileContext
from worker.compile.lru_cache import LRUCache
from worker.launch.kernel_source import KernelSource, KernelSources
from worker.pool.pool import Pool
from worker.spent_time import SpentTime

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgramContext:
    """The stores, pools and caches that programs need."""

    programs: Programs
    events: Events
    client: JobClient
    compilations: Compilations
    compiling: CompileContext
    children: ProgramChildren
    comparing: Pool
    """The pool whose children compare outputs."""
    batch_elements: int
    sources: LRUCache[KernelSource]
    tapes: LRUCache[ProgramTape]
    references: ReferenceReplayCache
    reference_us: LRUCache[float]
    """The CPU time of the ops of references, from experiments."""
    gpu: ProgramGpu | None = None
    """The GPU that programs run on; None: the CPU device."""


@dataclass(slots=True)
class ProgramAttempt:
    """One attempt at a program, with its request, deadline and recordings."""

    claim: Claim
    job: ProgramJob
    context: ProgramContext
    deadline: Deadline
    recordings: Recordings
    spent: SpentTime
    trial: int = 0
    """The number of the trial. Each has other seeds."""
    is_followed: bool = True
    """True if events are sent."""
    _kept: bool = False
    """True once tapes are stored."""
    _recorded: dict[InputsRequest | None, RecordedCase] = field(default_factory=dict)

    def again(self, trial: int) -> "ProgramAttempt":
        """Return this attempt for another trial, which uses the same recordings."""
        return replace(self, trial=trial)

    def on_cpu(self, limit_s: float) -> "ProgramAttempt":
        """Return this attempt on the CPU device, within `limit_s`. It sends no events."""
        deadline = Deadline(min(limit_s, self.deadline.left_s / 2), what="replay on the CPU")
        context = replace(self.context, gpu=None)
        return replace(self, context=context, deadline=deadline, is_followed=False)

    def in_half_the_time(self) -> "ProgramAttempt":
        """Return this attempt with half of the time that is left."""
        return replace(self, deadline=Deadline(self.deadline.left_s / 2, what="program"))

    @property
    def seed(self) -> int:
        """The seed of this trial's first call. The second call's seed is one more."""
        return (self.job.seed + CALLS_OF_A_TRIAL * self.trial) % (MAX_SEED + 1)

    async def record(self, inputs: InputsRequest | None) -> RecordedCase:
        """Record a case once, and send events of its tapes. Only the first case's tapes are stored.

        Raises as `Recordings.case`.
        """
        if inputs not in self._recorded:
            with self.spent.on("record"):
                self._recorded[inputs] = await self._record(inputs)
        return self._recorded[inputs]

    async def _record(self, inputs: InputsRequest | None) -> RecordedCase:
        recorded = await self.recordings.case(inputs)
        programs = {CANDIDATE: recorded.candidate, REFERENCE: recorded.reference}
        tapes = {whose: tape for whose, tape in programs.items() if tape is not None}
        if not self._kept:
            self._kept = True
            digests = await self._put([tape.text for tape in tapes.values()])
            kept = dict(zip(tapes, digests, strict=True))
            await self.context.programs.keep_tapes(self.job.id, kept)
        for whose, tape in tapes.items():
            sizes = {"ops": len(tape.tape.ops), "launches": launches_of(tape.tape)}
            await self.report("recorded", {"program": whose, **sizes})
        return recorded

    async def _put(self, texts: list[bytes]) -> Sequence[str]:
        return await self.context.compiling.blobs.put_many(texts)

    async def keep_receipt(
        self, kernels: Mapping[str, dict[str, str]], values: Sequence[Sequence[ReceiptValue]]
    ) -> None:
        """Store this worker's part of the receipt. `values` are those of each case."""
        triton = self.context.compiling.toolchain.triton
        # in a thread: a source may be long
        work = await asyncio.to_thread(written_work, self.job, triton, kernels, values)
        (digest,) = await self._put([work])
        await self.context.programs.keep_receipt(self.job.id, digest)

    def kernel_jobs(self, texts: ProgramTexts) -> KernelJobs:
        """Return the finder of compile jobs for the kernels in `texts`."""
        context = self.context
        is_whole = self.runs_on is not None or self.job.stop_after == "kernels"
        return KernelJobs(
            texts=texts,
            toolchain=context.compiling.toolchain,
            namespace=self.job.namespace,
            sources=KernelSources(context.compiling, self.deadline, context.sources),
            timeout_s=self.job.timeout_s,
            target=self.job.target,
            stop_after=None if is_whole else TTIR,
        )

    async def replay(
        self,
        program: ProgramTape,
        kernels: ProgramKernels,
        inputs_text: bytes | None,
        role: str,
        experiment: Experiment | None = None,
    ) -> Replayed:
        """Replay a program on the CPU device. `inputs_text` is the tape that makes its inputs.

        If that is None, its own tape makes them. With an `experiment`, no check is made.

        Raises DeadlinePassed, ZygoteError.
        """
        context, job = self.context, self.job
        pool = await context.children.replay.started()
        irs = kernels.irs
        has_atomics = role == CANDIDATE and kernels.has_atomics
        replayed = await replay(
            pool,
            ProgramToReplay(
                tape=program.tape,
                text=program.text,
                kernels=irs,
                inputs_text=inputs_text,
                files=sorted({path for ir in irs.values() for path in ir.files}),
                variants=kernels.numbers,
                role=role,
            ),
            ReplaySettings(
                target=parse_target(CPU_TARGET),
                seed=self.seed,
                memory_bytes=context.children.tensor_bytes,
                checks=() if experiment else cpu_checks(job.checks, has_atomics=has_atomics),
                batch_elements=context.batch_elements,
                ir_bounds=context.compiling.ir_bounds,
                experiment=experiment,
            ),
            job.timeout_s,
            self.deadline,
        )
        if experiment is not None:
            return replayed
        await self.report("replayed", {"program": role, "peak_bytes": replayed.peak_bytes})
        return replayed

    def replays_on(self, gpu: ProgramGpu, tolerances: OutputTolerances) -> ProgramReplays:
        """Return the replays of this program and its reference on a GPU."""
        job = self.job

        async def report(role: str, replayed: Replayed) -> None:
            await self.report("replayed", {"program": role, "peak_bytes": replayed.peak_bytes})

        turn = ReplayTurn(
            seed=self.seed,
            determinism="determinism" in (job.checks or ()),
            timing=timing_order(job.timing) if not self.trial else None,
            caller=job.caller,
            is_batch=Priority(job.priority) is Priority.BATCH,
            timeout_s=job.timeout_s,
            spent=self.spent,
        )
        return ProgramReplays(gpu, turn, tolerances, self.deadline, self.context.references, report)

    @property
    def runs_on(self) -> ProgramGpu | None:
        """The GPU that this program runs on; None if it runs on the CPU device, or not at all."""
        return self.context.gpu if self.job.stop_after is None else None

    @property
    def compiles(self) -> KernelCompiles:
        """The compiler of this program's kernels."""
        context = self.context
        return KernelCompiles(
            client=context.client,
            compilations=context.compilations,
            blobs=context.compiling.blobs,
            caller=self.job.caller,
            priority=Priority(self.job.priority),
            deadline=self.deadline,
            readers=context.children.readers,
            known=context.children.effects,
            for_gpu=self.runs_on is not None,
        )

    async def report(self, kind: str, data: Mapping[str, Any]) -> None:
        """Send an event to the program's followers. If the store refuses it, they miss it."""
        if not self.is_followed:
            return
        try:
            await self.context.events.append(self.claim.id, self.claim.token, kind, data)
        except StoreUnavailable as error:
            logger.warning("followers of %s miss %s: %s", self.job.id, kind, error)
