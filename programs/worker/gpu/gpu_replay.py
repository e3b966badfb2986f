"""Has a launcher replay one program on a GPU, when it is the program's turn.

No user Python runs in the process with the GPU and the clock. It gets a tape, cubins and a seed.
"""

import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from compiler.compilation import Compilation
from compiler.specialization import plain_type
from compiler.type_name import SCALARS
from jobs.deadline import Deadline, StepLimit
from launch.messages import Tolerance
from launch.request.launch_record import Device
from launch.request.launch_request import RepeatsRequest
from programs.gpu.program_order import DeviceKernel, ProgramOrder, ProgramTimingOrder
from programs.program_job import program_problem
from programs.replay.replay_order import MAX_OUTPUT_BYTES
from programs.tape.schema import ELEMENT_BYTES, Tape, TapeLaunch, tensors_of
from programs.worker.gpu.device_outcome import replayed_of
from programs.worker.kernel_jobs import KernelUse
from programs.worker.program_kernels import ProgramKernels
from programs.worker.replayed import Replayed
from worker.bytes_in_flight import BytesInFlight
from worker.gpu.launcher.launcher_order import BESIDE
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LauncherFacts, LaunchOutcome
from worker.gpu.supervisor.launchers import DeviceCordoned, Launchers
from worker.pool.frame import FrameError
from worker.spent_time import SpentTime

_MEMORY_SHARE = 0.85
"""The share of a GPU's memory that the tensors of a program may take."""
_UNEXPLAINED = frozenset({LaunchEnding.SIGNAL, LaunchEnding.SILENT})
"""Endings of launchers that do not show the op that was running."""
_LAST_WORDS_BYTES = 2 << 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgramGpu:
    """The GPU that a program runs on: `ordinal` of the `launchers`."""

    launchers: Launchers
    ordinal: int
    in_flight: BytesInFlight
    """The budget for programs' outputs that wait to be compared."""

    @asynccontextmanager
    async def room_for(
        self, candidate: Tape, reference: Tape | None, caller: str, deadline: Deadline
    ) -> AsyncIterator[None]:
        """Wait until there is room for the outputs of both. Raises DeadlinePassed."""
        size_bytes = _sent_bytes(candidate, reference)
        async with deadline.bounding():
            await self.in_flight.take(size_bytes, caller)
        try:
            yield
        finally:
            self.in_flight.give_back(size_bytes)

    @property
    def facts(self) -> LauncherFacts | None:
        """The facts that its launcher reported; None before it started."""
        return next(d.facts for d in self.launchers.devices if d.ordinal == self.ordinal)

    @property
    def target(self) -> str:
        """The target of its kernels. Raises DeviceCordoned before its launcher started."""
        if self.facts is None:
            raise DeviceCordoned("none of its launchers has started")
        return self.facts.target

    @property
    def uuid(self) -> str:
        """The GPU's UUID; "" before its launcher started."""
        return self.facts.uuid if self.facts is not None else ""

    @property
    def device(self) -> Device | None:
        """The device as it is in a record."""
        facts = self.facts
        if facts is None:
            return None
        return Device(
            target=facts.target, model=facts.model, driver=facts.driver, interpreter=False
        )

    @property
    def memory_bytes(self) -> int:
        """Limit of the memory of all tensors of a program."""
        return int(self.facts.memory_bytes * _MEMORY_SHARE) if self.facts is not None else 0


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A parsed tape, and its kernels compiled for the GPU."""

    tape: Tape
    text: bytes
    """The JSON that the tape was read from."""
    kernels: ProgramKernels
    inputs_text: bytes | None
    """The tape whose ops make the inputs; None: this tape's own do."""
    role: str
    """The program that problems name: `candidate` or `reference`."""


@dataclass(frozen=True, slots=True)
class ReplayTurn:
    """Settings of a replay on a GPU, and of waiting for its turn."""

    seed: int
    determinism: bool
    timing: ProgramTimingOrder | None
    caller: str
    is_batch: bool
    timeout_s: float
    is_apart: bool = False
    """True for a launcher that does nothing else."""
    spent: SpentTime = field(default_factory=SpentTime)
    """The time spent waiting for turns, and in them."""

    @property
    def of_reference(self) -> "ReplayTurn":
        """The settings for the reference: no test of determinism, and only the time of a call."""
        timing = self.timing
        if timing is not None:
            timing = replace(timing, entries=False)
        return replace(self, determinism=False, timing=timing)


@dataclass(frozen=True, slots=True)
class InTurns:
    """A reference to time in turns with a program, and the tolerances of outputs by position."""

    order: ProgramOrder
    tape: Tape
    tolerances: Mapping[int, Tolerance]


def timing_order(asked: RepeatsRequest | None) -> ProgramTimingOrder:
    """Return the timing order of a request."""
    if asked is None:
        return ProgramTimingOrder()
    return ProgramTimingOrder(
        warmup_repeats=asked.warmup_repeats,
        min_repeats=min(asked.min_repeats, asked.max_repeats or asked.min_repeats),
        max_repeats=asked.max_repeats,
        max_ms=asked.max_ms,
        flush_l2=asked.flush_l2,
        samples=asked.samples,
    )


async def replay_on(
    gpu: ProgramGpu,
    program: DeviceProgram,
    how: ReplayTurn,
    deadline: Deadline,
    turns: InTurns | None = None,
) -> Replayed:
    """Replay a program when it is its turn. Raises DeadlinePassed, DeviceCordoned.

    If the reference in `turns` ends the launcher before any turn, the program is replayed alone.
    """
    order = order_of(program, how, gpu.memory_bytes)
    if turns is not None:
        order = replace(order, turns=turns.order, tolerances=turns.tolerances)
    try:
        outcome, step = await placed_outcome(gpu, order, how, deadline)
    except FrameError as error:
        return too_large_order(error, program.role)
    ended = outcome.ending is not LaunchEnding.OK
    if turns is not None and ended and outcome.stages[-1:] == (BESIDE,):
        alone = await replay_on(gpu, program, replace(how, timing=None), deadline)
        alone.untimed = f"its reference did not run before it ({outcome.ending})."
        return alone
    if outcome.ending is LaunchEnding.DEADLINE:
        step.timed_out()
    reference = None if turns is None else turns.tape
    return replayed_of(outcome, program.tape, program.role, how.timeout_s, reference)


async def placed_outcome(
    gpu: ProgramGpu, order: ProgramOrder, how: ReplayTurn, deadline: Deadline
) -> tuple[LaunchOutcome, StepLimit]:
    """Return the outcome of an order, and the limit of each of its programs.

    If the launcher dies without a report, another one replays and announces each op. If that
    dies, too, the outcome's stages name the last op. Raises DeadlinePassed, DeviceCordoned,
    FrameError.
    """
    outcome, step = await in_turn_again(gpu, order, how, deadline)
    if outcome.ending in _UNEXPLAINED:
        again, _ = await in_turn(gpu, announced(order), how, deadline)
        if again.ending in _UNEXPLAINED:
            outcome = replace(outcome, stages=again.stages)
    return outcome, step


def announced(order: ProgramOrder) -> ProgramOrder:
    """Return an order that only runs the ops, and announces each of them."""
    reference = None if order.reference is None else announced(order.reference)
    return replace(
        order, timing=None, determinism=False, announce=True, reference=reference, turns=None
    )


def too_large_order(error: FrameError, role: str) -> Replayed:
    """Return the result for a program whose order does not fit into one frame."""
    replayed = Replayed()
    detail = f"The kernels and parameters are too large for one replay ({error})."
    replayed.fail(program_problem("invalid_argument", detail, program=role))
    return replayed


async def in_turn_again(
    gpu: ProgramGpu, order: ProgramOrder, how: ReplayTurn, deadline: Deadline
) -> tuple[LaunchOutcome, StepLimit]:
    """Call `in_turn`, and once more if the launcher exits, which may be our bug.

    Its last output goes into the log.
    """
    outcome, step = await in_turn(gpu, order, how, deadline)
    if outcome.ending is not LaunchEnding.SILENT:
        return outcome, step
    words = outcome.stdout[-_LAST_WORDS_BYTES:].decode(errors="replace")
    logger.error("a program launcher exited (%s); its last output:\n%s", outcome.detail, words)
    return await in_turn(gpu, order, how, deadline)


async def in_turn(
    gpu: ProgramGpu, order: ProgramOrder, how: ReplayTurn, deadline: Deadline
) -> tuple[LaunchOutcome, StepLimit]:
    """Wait for the turn of an order; return its outcome and its limit.

    A reference in the same turn gets as much time again. Raises DeadlinePassed, DeviceCordoned,
    FrameError.
    """
    limit, came_s = _Limit(deadline, how.timeout_s), time.monotonic()
    try:
        outcome = await gpu.launchers.replay(
            gpu.ordinal,
            order,
            caller=how.caller,
            deadline_s=limit,
            turn_s=deadline.left_s,
            is_batch=how.is_batch,
            single_use=how.is_apart,
        )
    except TimeoutError:
        raise deadline.passed from None
    finally:
        ended_s = time.monotonic()
        began_s = limit.began_s or ended_s
        how.spent.add("turn", began_s - came_s)
        how.spent.add("replay", ended_s - began_s)
    return outcome, limit.step


class _Limit:
    """The limit of a replay, computed when it begins."""

    def __init__(self, deadline: Deadline, timeout_s: float) -> None:
        self.step = StepLimit(timeout_s, None)
        self.began_s: float | None = None
        self._deadline, self._timeout_s = deadline, timeout_s

    def __call__(self) -> float:
        self.began_s = time.monotonic()
        self.step = self._deadline.step(self._timeout_s)
        return self.step.limit_s


def order_of(program: DeviceProgram, how: ReplayTurn, memory_bytes: int) -> ProgramOrder:
    """Return the launcher's order."""
    kernels = DeviceKernels(program.kernels)
    launches = [
        kernels.of_launch(op, program.kernels.variants[index])
        for index, op in enumerate(program.tape.ops)
        if isinstance(op, TapeLaunch)
    ]
    return ProgramOrder(
        tape=program.text,
        inputs_tape=program.inputs_text,
        kernels=kernels.named,
        launches=launches,
        seed=how.seed,
        memory_bytes=memory_bytes,
        timing=how.timing,
        determinism=how.determinism,
    )


def _sent_bytes(candidate: Tape, reference: Tape | None) -> int:
    """Return the most bytes that both send; 0 if outputs are compared on the GPU."""
    ours = returned_bytes(candidate)
    theirs = returned_bytes(reference) if reference is not None else 0
    return ours + theirs if max(ours, theirs) <= MAX_OUTPUT_BYTES else 0


def returned_bytes(tape: Tape) -> int:
    """Return the size of the outputs of both calls."""
    returned = [*tensors_of(tape.outputs), *tensors_of(tape.outputs2)]
    tensors = (tape.tensors[id_] for id_ in returned)
    return sum(prod(tensor.shape) * ELEMENT_BYTES[tensor.dtype] for tensor in tensors)


class DeviceKernels:
    """The kernels of a program under short names, as there may be 200,000 launches."""

    def __init__(self, kernels: ProgramKernels) -> None:
        self._kernels = kernels
        self._left_out = kernels.left_out
        self._names: dict[str, str] = {}
        self.named: dict[str, DeviceKernel] = {}

    def of_launch(self, launch: TapeLaunch, uses: Sequence[KernelUse]) -> list[str]:
        """Return the names of the kernels of a launch's variants, "" for one that cannot run."""
        variants = launch.variants or (None,)
        return [
            "" if variant is not None and variant.unprepared else self.name(use)
            for variant, use in zip(variants, uses, strict=True)
        ]

    def name(self, use: KernelUse) -> str:
        """Return the name of the kernel of a use, "" if it did not compile."""
        built = self._kernels.built(use)
        if built is None or built.cubin is None or use in self._left_out:
            return ""
        key = built.compilation.key
        if key not in self._names:
            name = self._names[key] = str(len(self._names))
            assert built.compilation.abi is not None
            scalars = scalars_of(built.compilation)
            self.named[name] = DeviceKernel(built.cubin, built.compilation.abi, scalars)
        return self._names[key]


def scalars_of(compilation: Compilation) -> dict[str, str]:
    """Return the types of a kernel's scalar parameters by path: `n`, or `pair.1` in a tuple."""
    scalars: dict[str, str] = {}
    for item in compilation.parameters:
        if item.role == "runtime":
            _add_scalars(scalars, item.name, plain_type(item.type))
    return scalars


def _add_scalars(scalars: dict[str, str], path: str, kind: Any) -> None:
    if isinstance(kind, list):
        for position, item in enumerate(kind):
            _add_scalars(scalars, f"{path}.{position}", item)
    elif kind in SCALARS:
        scalars[path] = kind
