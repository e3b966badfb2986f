"""One replay of a program on a GPU: what its launcher is told, and what its outcome amounts to.

No user Python runs where the GPU and the clock are: a launcher gets a tape, cubins and a seed.
"""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import prod

from jobs.deadline import Deadline, StepLimit
from launch.request.launch_record import Device
from launch.request.launch_request import RepeatsRequest
from programs.gpu.program_order import ProgramOrder, ProgramTimingOrder
from programs.program_job import program_problem
from programs.replay.replay_order import MOST_OUTPUT_BYTES
from programs.tape.schema import Tape, TapeLaunch, tensors_of
from programs.tape.tape_dtypes import ELEMENT_BYTES
from programs.worker.gpu.device_kernels import DeviceKernels
from programs.worker.gpu.device_outcome import replayed_of
from programs.worker.program_kernels import ProgramKernels
from programs.worker.replayed import Replayed
from worker.bytes_in_flight import BytesInFlight
from worker.gpu.supervisor.launcher_protocol import LaunchEnding, LauncherFacts, LaunchOutcome
from worker.gpu.supervisor.launchers import DeviceCordoned, Launchers
from worker.pool.frame import FrameError
from worker.spent_time import SpentTime

_MEMORY_SHARE = 0.85
"""Of a GPU's memory that the tensors of a program may take."""
_SENDS = 4
"""So often is what a candidate returns there at once: of timed repeats, too."""
_UNEXPLAINED = frozenset({LaunchEnding.SIGNAL, LaunchEnding.SILENT})
"""Endings of launchers that say nothing of where in the program it was."""
_LAST_WORDS_BYTES = 2 << 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgramGpu:
    """The GPU that a program is done on, `ordinal` among the `launchers`."""

    launchers: Launchers
    ordinal: int
    in_flight: BytesInFlight
    """For what programs return, until it is compared."""

    @asynccontextmanager
    async def room_for(
        self, candidate: Tape, reference: Tape | None, caller: str, deadline: Deadline
    ) -> AsyncIterator[None]:
        """Wait until there is room for what both send. Raises DeadlinePassed."""
        size_bytes = _sent_bytes(candidate, reference)
        async with deadline.bounding():
            await self.in_flight.take(size_bytes, caller)
        try:
            yield
        finally:
            self.in_flight.give_back(size_bytes)

    @property
    def facts(self) -> LauncherFacts | None:
        """What is known of it."""
        return next(d.facts for d in self.launchers.devices if d.ordinal == self.ordinal)

    @property
    def target(self) -> str:
        """What its kernels are compiled for. Raises DeviceCordoned where nothing started yet."""
        if self.facts is None:
            raise DeviceCordoned("no launcher of it has started")
        return self.facts.target

    @property
    def uuid(self) -> str:
        """Which one it is, of all GPUs there are."""
        return self.facts.uuid if self.facts is not None else ""

    @property
    def device(self) -> Device | None:
        """It as a record says it."""
        facts = self.facts
        if facts is None:
            return None
        return Device(
            target=facts.target, model=facts.model, driver=facts.driver, interpreter=False
        )

    @property
    def memory_bytes(self) -> int:
        """What all tensors of a program may take at one time."""
        return int(self.facts.memory_bytes * _MEMORY_SHARE) if self.facts is not None else 0


@dataclass(frozen=True, slots=True)
class DeviceProgram:
    """A tape that was read, and its kernels compiled for the GPU."""

    tape: Tape
    text: bytes
    """The JSON that the tape was read from."""
    kernels: ProgramKernels
    inputs_text: bytes | None
    """The tape whose ops make the inputs; None: its own do."""
    role: str
    """Whose a problem is: the candidate's or the reference's."""


@dataclass(frozen=True, slots=True)
class ReplayTurn:
    """How a program is replayed on a GPU, and in whose turn."""

    seed: int
    determinism: bool
    timing: ProgramTimingOrder | None
    caller: str
    is_batch: bool
    timeout_s: float
    turn_s: float
    """How long the GPU's turn may be waited for."""
    spent: SpentTime = field(default_factory=SpentTime)
    """On waiting for turns, and in them."""

    @property
    def of_reference(self) -> "ReplayTurn":
        """The reference's: it may add up in no fixed order, and only its time is of interest."""
        timing = self.timing
        if timing is not None:
            timing = replace(timing, entries=False, sends_iterations=False)
        return replace(self, determinism=False, timing=timing)


def timing_order(asked: RepeatsRequest | None) -> ProgramTimingOrder:
    """Return how a program is to be timed."""
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
    gpu: ProgramGpu, program: DeviceProgram, how: ReplayTurn, deadline: Deadline
) -> Replayed:
    """Replay a program when it is its turn. Raises DeadlinePassed, DeviceCordoned."""
    order = order_of(program, how, gpu.memory_bytes)
    try:
        outcome, step = await placed_outcome(gpu, order, how, deadline)
    except FrameError as error:
        return too_large_order(error, program.role)
    if outcome.ending is LaunchEnding.DEADLINE:
        step.timed_out()
    return replayed_of(outcome, program.tape, program.role, how.timeout_s)


async def placed_outcome(
    gpu: ProgramGpu, order: ProgramOrder, how: ReplayTurn, deadline: Deadline
) -> tuple[LaunchOutcome, StepLimit]:
    """Return the outcome of an order, and the limit of each of its programs.

    Where the launcher ends without a word, another one tells where: the outcome's stages name that
    op, if that one ends there, too. Raises DeadlinePassed, DeviceCordoned, FrameError.
    """
    outcome, step = await in_turn_again(gpu, order, how, deadline)
    if outcome.ending in _UNEXPLAINED:
        again, _ = await in_turn(gpu, announced(order), how, deadline)
        if again.ending in _UNEXPLAINED:
            outcome = replace(outcome, stages=again.stages)
    return outcome, step


def announced(order: ProgramOrder) -> ProgramOrder:
    """Return an order that says of each op that it begins, and does nothing beside running them."""
    beside = None if order.beside is None else announced(order.beside)
    return replace(order, timing=None, determinism=False, announce=True, beside=beside)


def too_large_order(error: FrameError, role: str) -> Replayed:
    """Return what comes of a program that is too much for one frame."""
    replayed = Replayed()
    detail = f"Its kernels and their parameters are more than one replay is told ({error})."
    replayed.fail(program_problem("invalid_argument", detail, program=role))
    return replayed


async def in_turn_again(
    gpu: ProgramGpu, order: ProgramOrder, how: ReplayTurn, deadline: Deadline
) -> tuple[LaunchOutcome, StepLimit]:
    """Do as `in_turn`; once more where the launcher left by itself, which may be its own mistake.

    What it said of that goes into the log.
    """
    outcome, step = await in_turn(gpu, order, how, deadline)
    if outcome.ending is not LaunchEnding.SILENT:
        return outcome, step
    words = outcome.stdout[-_LAST_WORDS_BYTES:].decode(errors="replace")
    logger.error("a launcher of programs left (%s):\n%s", outcome.detail, words)
    return await in_turn(gpu, order, how, deadline)


async def in_turn(
    gpu: ProgramGpu, order: ProgramOrder, how: ReplayTurn, deadline: Deadline
) -> tuple[LaunchOutcome, StepLimit]:
    """Return the outcome of an order when it is its turn, and its limit.

    A program beside the first has as long again. Raises DeadlinePassed, DeviceCordoned, FrameError.
    """
    limit, came_s = _Limit(deadline, how.timeout_s), time.monotonic()
    try:
        outcome = await gpu.launchers.replay(
            gpu.ordinal,
            order,
            caller=how.caller,
            deadline_s=limit,
            turn_s=deadline.limit_s(how.turn_s),
            is_batch=how.is_batch,
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
    """The limit of a replay, asked for when it begins."""

    def __init__(self, deadline: Deadline, timeout_s: float) -> None:
        self.step = StepLimit(timeout_s, None)
        self.began_s: float | None = None
        self._deadline, self._timeout_s = deadline, timeout_s

    def __call__(self) -> float:
        self.began_s = time.monotonic()
        self.step = self._deadline.step(self._timeout_s)
        return self.step.limit_s


def order_of(program: DeviceProgram, how: ReplayTurn, memory_bytes: int) -> ProgramOrder:
    """Return what the launcher is told."""
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
    """Return what both send at most, nothing where outputs are compared on the GPU."""
    ours = returned_bytes(candidate)
    theirs = returned_bytes(reference) if reference is not None else 0
    return _SENDS * ours + theirs if max(ours, theirs) <= MOST_OUTPUT_BYTES else 0


def returned_bytes(tape: Tape) -> int:
    """Return what both calls return together."""
    returned = [*tensors_of(tape.outputs), *tensors_of(tape.outputs2)]
    tensors = (tape.tensors[id_] for id_ in returned)
    return sum(prod(one.shape) * ELEMENT_BYTES[one.dtype] for one in tensors)
