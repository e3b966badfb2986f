"""The consumers of programs: one for the CPU device, and one for each GPU. They need torch.

They take no job before a recording of a known program has shown that recording works here.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jobs.deadline import Deadline, DeadlinePassed
from programs.program_job import CANDIDATE, ProgramJob
from programs.program_kind import PROGRAM
from programs.recorder.record_order import RecordOrder
from programs.stored_programs import Programs
from programs.tape.schema import AtenOp, Tape, TapeLaunch
from programs.worker.do_program import do_program
from programs.worker.gpu.gpu_replay import ProgramGpu
from programs.worker.gpu.program_replays import ReferenceReplayCache
from programs.worker.program_attempt import ProgramContext
from programs.worker.program_children import ENVIRONMENT, ProgramChildren
from programs.worker.program_recordings import NotRecorded, ProgramTape, record_program
from store import workers
from store.events import Events
from store.jobs.types import program_device_lane, programs_lane
from worker.compile.lru_cache import LRUCache
from worker.consumer import Attempt, Consumer, Handler, run_until
from worker.gpu.supervisor.launchers import DeviceCordoned, WorkerStops
from worker.launch.kernel_source import KernelSource
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteError
from worker.replaced_toolchains import ReplacedToolchains, doing_programs
from worker.worker_context import WorkerContext

DoProgram = Callable[[Attempt[ProgramJob], ProgramGpu], Awaitable[None]]
NO_TORCH = "torch is not installed in this worker's environment"
IS_BEING_TESTED = "recording is being tested"
MAX_TAPES_BYTES = 256 << 20
"""Limit of the cached tapes of references, by their size in memory."""
MAX_TIMES_BYTES = 1 << 20
"""Limit of the cached times of references."""

MAX_REFERENCES_BYTES = 1 << 30
"""Limit of the cached outputs of references on GPUs."""

logger = logging.getLogger(__name__)
_KNOWN_PROGRAM = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask), mask)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return Double.apply(gradient)


def custom_kernel(x, weight):
    weight = weight.clone().requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = Double.apply(x.requires_grad_() @ weight)
    out.float().sum().backward()
    return out, weight.grad
"""
KNOWN_ORDER = RecordOrder(
    entries=[{"kind": "function", "name": "custom_kernel"}],
    inputs=[
        {"tensor": {"dtype": "fp32", "shape": [4, 16], "device": "cuda"}},
        {"tensor": {"dtype": "fp32", "shape": [16, 8], "device": "cuda"}},
    ],
)
KNOWN_BODY = json.dumps({"source": _KNOWN_PROGRAM, "files": {}}).encode()
_LAUNCHES = 4
"""Forward and backward, in two calls."""
_OPS = {"aten.mm.default": 6, "aten.sum.default": 2}
WITHIN_S = 60.0
_SET_BY_TORCH = "TORCHINDUCTOR_CACHE_DIR"


class ProgramGpuConsumer:
    """Runs the programs of one GPU, one in each slot at a time."""

    def __init__(
        self,
        name: str,
        gpu: ProgramGpu,
        model: str,
        context: WorkerContext,
        do_program: DoProgram,
    ) -> None:
        self._gpu, self._do_program = gpu, do_program
        self._gpus, self._toolchain_id = context.gpus, context.compiling.toolchain.id
        replaced = ReplacedToolchains(
            context.queue.redis,
            partial(doing_programs, f"{gpu.target} {model}"),
            [context.compiling],
            partial(_lanes_of_gpu, gpu.target, model),
        )
        self._lane = replaced.lanes[0]
        self._consumer = Consumer(
            context.queue,
            name,
            replaced.lanes,
            [Handler(PROGRAM, self._do)],
            context.slots,
            each_heartbeat=[replaced.look],
        )

    async def run(self) -> None:
        """Offer to run programs, and run them, until cancelled or the GPU takes no more."""
        gpu = self._gpu
        logger.info("GPU %d: %s", gpu.ordinal, self._lane)
        self._gpus.offer_programs(gpu.ordinal, [self._toolchain_id])
        gone = gpu.launchers.until_without_programs(gpu.ordinal)
        try:
            await run_until(gone, self._consumer.run(), self._log_end)
        finally:
            self._gpus.offer_programs(gpu.ordinal, [])

    async def drain(self) -> None:
        """Take no more programs, and return when the running ones have ended."""
        await self._consumer.drain()

    async def _log_end(self, why: str) -> None:
        # the launchers have logged whether it is an error
        logger.info("GPU %d takes no more programs: %s", self._gpu.ordinal, why)

    async def _do(self, attempt: Attempt[ProgramJob]) -> None:
        """Run a program; one that needs a cordoned GPU waits until its slot gives it back."""
        try:
            await self._do_program(attempt, self._gpu)
        except DeviceCordoned:
            await asyncio.Event().wait()


def _lanes_of_gpu(target: str, model: str, toolchain_id: str) -> list[str]:
    return [program_device_lane(toolchain_id, target, model)]


@dataclass(frozen=True, slots=True)
class RecordingOffer:
    """This worker's offer to record programs; `reason` is None if it records them."""

    reason: str | None
    is_being_tried: bool = False
    tries_gpus: bool = False
    """True while it checks if programs run on the GPUs of its machine."""

    def to_dict(self) -> dict[str, Any]:
        """Return the offer as workers publish it."""
        return {
            "offered": self.reason is None,
            "reason": self.reason,
            "is_being_tried": self.is_being_tried,
            "tries_gpus": self.tries_gpus,
        }


class ProgramConsumers:
    """Runs programs of one toolchain, on the CPU device and on each GPU that programs run on."""

    def __init__(self, context: WorkerContext, children: ProgramChildren | None) -> None:
        """Prepare, but start nothing. `children` is None if torch is not installed."""
        self._context, self._children = context, children
        self._on_gpus: list[ProgramGpuConsumer] = []
        self._toolchain_id = context.compiling.toolchain.id
        redis = context.queue.redis
        replaced = ReplacedToolchains(
            redis, partial(doing_programs, None), [context.compiling], _lanes_of
        )
        self._consumer = Consumer(
            context.queue,
            f"{context.name}-programs",
            replaced.lanes,
            [Handler(PROGRAM, self._do)],
            context.slots,
            each_heartbeat=[replaced.look, self._forget_old_references],
        )
        has_torch = children is not None
        self.recording = RecordingOffer(
            IS_BEING_TESTED if has_torch else NO_TORCH, is_being_tried=has_torch
        )
        self._programs, self._events = Programs(redis), Events(redis)
        self._sources = LRUCache[KernelSource]()
        self._tapes = LRUCache[ProgramTape](MAX_TAPES_BYTES)
        self._reference_us = LRUCache[float](MAX_TIMES_BYTES)
        self._references = ReferenceReplayCache(MAX_REFERENCES_BYTES)

    @property
    def offered(self) -> list[str]:
        """The toolchains for which it records programs."""
        return [self._toolchain_id] if self.recording.reason is None else []

    def describe(self, worker: workers.Worker) -> workers.Worker:
        """Return the description of a worker, with its offer of programs."""
        report = (worker.sandbox_report or {}) | {"recording": self.recording.to_dict()}
        return replace(worker, sandbox_report=report, programs=self.offered)

    async def run(self) -> None:
        """Test the recorder, and if it works, run programs until cancelled."""
        if self._children is None:
            return
        async with asyncio.TaskGroup() as group:
            recorder = group.create_task(self._recorder_problem(self._children))
            gpus = await self._context.gpus.started()
            facts_of_all = gpus.facts if gpus is not None else ()
            # in parallel with the recorder's test, as each takes seconds
            trying = [group.create_task(self._tried(facts)) for facts in facts_of_all]
            problem = await recorder
            self.recording = RecordingOffer(problem, tries_gpus=problem is None and bool(trying))
            if problem is not None:
                logger.error("programs are not recorded here: %s", problem)
                for task in trying:
                    task.cancel()
                return
            logger.info("programs are recorded here")
            group.create_task(self._consumer.run())
            for tried in asyncio.as_completed(trying):
                if (on_gpu := await tried) is not None:
                    self._on_gpus.append(on_gpu)
                    group.create_task(on_gpu.run())
            self.recording = RecordingOffer(None)

    async def drain(self) -> None:
        """Take no more programs, and return when the running ones have ended."""
        if self.offered:
            on_gpus = (on_gpu.drain() for on_gpu in self._on_gpus)
            await asyncio.gather(self._consumer.drain(), *on_gpus)

    async def _forget_old_references(self) -> None:
        self._references.forget_old()

    async def _tried(self, facts: Mapping[str, Any]) -> ProgramGpuConsumer | None:
        """Return the consumer of a GPU, None if no launcher of programs starts on it."""
        shared = self._context.gpus
        gpus, ordinal = await shared.started(), facts["ordinal"]
        assert gpus is not None
        try:
            await gpus.launchers.try_programs(ordinal)
        except DeviceCordoned as cordoned:
            level = logging.INFO if isinstance(cordoned, WorkerStops) else logging.ERROR
            logger.log(level, "programs do not run on GPU %d: %s", ordinal, cordoned)
            return None
        gpu = ProgramGpu(gpus.launchers, ordinal, shared.in_flight)
        name = f"{self._context.name}-gpu{ordinal}-programs"
        return ProgramGpuConsumer(name, gpu, facts["model"], self._context, self._do)

    async def _recorder_problem(self, children: ProgramChildren) -> str | None:
        try:
            return await recorder_fault(await children.recorder.started())
        except ZygoteError as error:
            return str(error)
        except Exception as error:
            # a broken recorder must not stop the worker's other jobs
            logger.exception("testing if programs can be recorded")
            return f"{type(error).__name__}: {error}"
        finally:
            await children.recorder.close()  # it starts again with the first program

    async def _do(self, attempt: Attempt[ProgramJob], gpu: ProgramGpu | None = None) -> None:
        """Run a program on `gpu`, or on the CPU device if that is None."""
        assert self._children is not None
        context, children = self._context, self._context.children
        doing = ProgramContext(
            programs=self._programs,
            events=self._events,
            client=context.client,
            compilations=context.compilations,
            compiling=context.compiling,
            children=self._children,
            comparing=children.kernels,
            batch_elements=children.batch_elements,
            sources=self._sources,
            tapes=self._tapes,
            reference_us=self._reference_us,
            references=self._references,
            gpu=gpu,
        )
        await do_program(attempt, doing)


def _lanes_of(toolchain_id: str) -> list[str]:
    return [programs_lane(toolchain_id)]


def fault_of(tape: Tape) -> str | None:
    """Return the error in the tape of this program; None if the child records correctly."""
    launches = [op for op in tape.ops if isinstance(op, TapeLaunch)]
    if len(launches) != _LAUNCHES:
        return f"it has {len(launches)} launches instead of {_LAUNCHES}"
    counts = Counter(op.op for op in tape.ops if isinstance(op, AtenOp))
    for name, number in _OPS.items():
        if counts[name] != number:
            return f"it has {name} {counts[name]} times instead of {number}"
    if tape.tensors[launches[0].args["x"].id].dtype != "bf16":  # type: ignore[union-attr]
        return "it has no casts by autocast"
    return None


async def recorder_fault(pool: Pool) -> str | None:
    """Return why the children of `pool` cannot record programs; None if they can."""
    sandbox_fault = await _sandbox_fault(pool)
    if sandbox_fault is not None:
        return sandbox_fault
    try:
        recorded = await record_program(
            pool, KNOWN_ORDER, KNOWN_BODY, CANDIDATE, WITHIN_S, Deadline(WITHIN_S, what="self-test")
        )
    except (NotRecorded, DeadlinePassed) as error:
        return f"recording a known program failed: {error}"
    fault = fault_of(recorded.tape)
    return None if fault is None else f"the tape of a known program is wrong: {fault}"


async def _sandbox_fault(pool: Pool) -> str | None:
    environment = [*ENVIRONMENT, _SET_BY_TORCH]
    may = {"may_run_tools": False, "may_open": False}
    header = {"task": "selftest", **may, "environment": environment}
    outcome = await pool.run(KNOWN_ORDER.profile, header, b"", deadline_s=WITHIN_S)
    if outcome.ending is not Ending.OK or outcome.result is None:
        return f"the sandbox test did not finish: {outcome.ending} ({outcome.detail})"
    failed = outcome.result["failed"]
    if failed and not pool.facts["unsafe"]:
        return f"these checks of the sandbox failed: {', '.join(map(str, failed))}"
    return None
