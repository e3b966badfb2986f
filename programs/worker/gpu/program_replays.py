"""Replays a program and its reference on a GPU, in this order, in one turn or in two.

The candidate goes first: a kernel can read everything that its process has mapped, so expected
outputs must not have been there before. Where both fit into the memory at once they are then timed
in turns, on other inputs. Outputs that are too large to leave the GPU are compared there, and only
the comparison is sent.

Replays of references are kept for a while, as many candidates share one. The key covers everything
that a run depends on, and the caller. Only runs that finished without findings are kept.
"""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from cachetools import TTLCache

from jobs.deadline import Deadline, DeadlinePassed
from launch.messages import Tolerance
from programs.gpu.program_order import ProgramOrder
from programs.replay.replay_order import MAX_OUTPUT_BYTES
from programs.replay.storage_lifetimes import lifetimes
from programs.tape.schema import Structure, Tape, TensorRef, by_path
from programs.worker.gpu.device_outcome import both_of, doubt_times
from programs.worker.gpu.gpu_replay import (
    DeviceProgram,
    InTurns,
    ProgramGpu,
    ReplayTurn,
    order_of,
    placed_outcome,
    replay_on,
    returned_bytes,
    too_large_order,
)
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_comparison import compared_dtype, is_sound
from programs.worker.replayed import (
    Replayed,
    ReplayedTensor,
)
from worker.gpu.supervisor.launcher_protocol import LaunchEnding
from worker.pool.frame import FrameError

LIFE_S = 300.0
"""Lifetime of an entry. A GPU's clocks and temperature change, and times with them."""
_BESIDE_BYTES = 64 << 10
"""The size counted for an entry, besides its outputs."""
_NAME_BYTES = 512
"""The size counted for each of its details: there may be 200,000."""
_GRAPHS = 2
"""The ratio of the memory of timed graphs to the peak of one call."""


class ReferenceReplayCache:
    """The replays of references of one worker, within a size."""

    def __init__(self, most_bytes: int) -> None:
        self._kept = TTLCache[str, Replayed](
            most_bytes, LIFE_S, timer=time.monotonic, getsizeof=_size_bytes
        )
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    def lock(self, name: str) -> asyncio.Lock:
        """Return the lock to hold while a reference is looked up and replayed, to do that once."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def find(self, key: str) -> Replayed | None:
        """Return the replay of a reference, None if it is unknown or too old."""
        self.forget_old()
        return self._kept.get(key)

    def keep(self, key: str, replayed: Replayed) -> None:
        """Keep the replay of a reference if it is sound and within the size."""
        if is_sound(replayed) and _size_bytes(replayed) <= self._kept.maxsize:
            self._kept[key] = replayed

    def forget_old(self) -> None:
        """Drop entries that are too old, and free their memory."""
        self._kept.expire()

    @property
    def size_bytes(self) -> int:
        """The size of all entries."""
        return int(self._kept.currsize)


def key_of(caller: str, gpu: str, order: ProgramOrder) -> str:
    """Return the key of a run of `order` on a GPU: a digest of everything it depends on."""
    digest = hashlib.sha256()
    kernels = [
        (name, hashlib.sha256(kernel.cubin).hexdigest(), kernel.abi, sorted(kernel.scalars.items()))
        for name, kernel in order.kernels.items()
    ]
    rest = (caller, gpu, order.seed, order.memory_bytes, order.timing, kernels, order.launches)
    tapes = [order.tape] if order.inputs_tape is None else [order.tape, order.inputs_tape]
    for part in (repr(rest).encode(), *tapes):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _size_bytes(replayed: Replayed) -> int:
    tensors = [item for call in replayed.calls for item in call.values()]
    returned = sum(
        len(tensor.data or b"") for tensor in tensors if isinstance(tensor, ReplayedTensor)
    )
    names = [path for call in replayed.calls for path in call]
    variables = [
        variable for state in replayed.module_states for variable in state.get("variables", ())
    ]
    names += [str(variable["name"]) for variable in variables]
    parts = len(names) + len(replayed.variants) + len(replayed.parameters)
    return _BESIDE_BYTES + _NAME_BYTES * parts + 4 * sum(map(len, names)) + returned


@dataclass(frozen=True, slots=True)
class ProgramReplays:
    """Replays the programs of one attempt in the GPU's turns."""

    gpu: ProgramGpu
    turn: ReplayTurn
    """The settings of the candidate's replay."""
    tolerances: OutputTolerances
    deadline: Deadline
    known: ReferenceReplayCache
    report: Callable[[str, Replayed], Awaitable[None]]
    """Sends the event that the program of a role was replayed."""

    async def both(
        self, candidate: DeviceProgram, reference: DeviceProgram | None
    ) -> tuple[Replayed, Replayed | None]:
        """Return both replays, None for a reference that is no longer needed.

        Raises DeadlinePassed, DeviceCordoned.
        """
        if reference is not None and (is_too_large(candidate.tape) or is_too_large(reference.tape)):
            return await self._beside(candidate, reference)
        in_turns = reference if self._may_take_turns(candidate, reference) else None
        replayed = await self._candidate(candidate, in_turns)
        await self.report(candidate.role, replayed)
        if reference is None or not replayed.is_whole:
            return replayed, None
        if in_turns is None:
            doubt_times(replayed)
            return replayed, await self._reference(reference, self.turn.of_reference)
        replayed_reference = await self._reference(
            reference, replace(self.turn.of_reference, timing=None)
        )
        times, why = replayed.reference_times, replayed.reference_untimed
        return replayed, replace(replayed_reference, times=times, untimed=why)

    def _may_take_turns(self, candidate: DeviceProgram, reference: DeviceProgram | None) -> bool:
        """Return True if both are to be timed, and fit into the GPU's memory with their graphs."""
        if reference is None or self.turn.timing is None:
            return False
        peaks = [lifetimes(program.tape).peak_bytes for program in (candidate, reference)]
        return sum(peaks) * _GRAPHS <= self.gpu.memory_bytes

    async def _candidate(
        self, candidate: DeviceProgram, reference: DeviceProgram | None
    ) -> Replayed:
        """Replay the candidate, and time it in turns with a reference."""
        if reference is None:
            return await replay_on(self.gpu, candidate, self.turn, self.deadline)
        reference_order = order_of(reference, self.turn.of_reference, self.gpu.memory_bytes)
        tolerances = tolerances_of(candidate.tape, reference.tape, self.tolerances)
        turns = InTurns(reference_order, reference.tape, tolerances)
        return await replay_on(self.gpu, candidate, self.turn, self.deadline, turns)

    async def _beside(
        self, candidate: DeviceProgram, reference: DeviceProgram
    ) -> tuple[Replayed, Replayed | None]:
        ours, theirs = await replay_pair(
            self.gpu, candidate, reference, self.turn, self.tolerances, self.deadline
        )
        theirs.is_apart = False
        for program, replayed in ((candidate, ours), (reference, theirs)):
            await self.report(program.role, replayed)
        is_needed = ours.is_whole or theirs.problem is not None or bool(theirs.findings)
        return ours, theirs if is_needed else None

    async def _reference(self, reference: DeviceProgram, turn: ReplayTurn) -> Replayed:
        gpu = self.gpu
        order = order_of(reference, turn, gpu.memory_bytes)
        key = key_of(turn.caller, gpu.uuid, order)
        # programs with the same reference wait for one replay of it, but not behind batch work
        lock = self.known.lock(f"{key} {turn.is_batch}")
        with turn.spent.on("turn"):
            async with self.deadline.bounding():
                await lock.acquire()
        try:
            replayed = self.known.find(key)
            if replayed is None:
                replayed = await self._sound_or_apart(reference, turn)
                self.known.keep(key, replayed)
        finally:
            lock.release()
        await self.report(reference.role, replayed)
        return replayed

    async def _sound_or_apart(self, reference: DeviceProgram, turn: ReplayTurn) -> Replayed:
        """Replay a reference, and again in a separate launcher if it fails.

        Kernels of its programs ran in the launcher of the caller, and may have broken it.
        """
        replayed = await replay_on(self.gpu, reference, turn, self.deadline)
        if is_sound(replayed):
            return replayed
        try:
            return await replay_on(self.gpu, reference, replace(turn, is_apart=True), self.deadline)
        except DeadlinePassed:
            replayed.is_apart = False
            return replayed


def is_too_large(tape: Tape) -> bool:
    """Return True if a program's outputs are too large to leave a GPU."""
    return returned_bytes(tape) > MAX_OUTPUT_BYTES


async def replay_pair(
    gpu: ProgramGpu,
    program: DeviceProgram,
    reference: DeviceProgram,
    how: ReplayTurn,
    allowed: OutputTolerances,
    deadline: Deadline,
) -> tuple[Replayed, Replayed]:
    """Return the replays of a program and its reference. Raises DeadlinePassed, DeviceCordoned."""
    of_reference = order_of(reference, how.of_reference, gpu.memory_bytes)
    order = replace(
        order_of(program, how, gpu.memory_bytes),
        reference=of_reference,
        tolerances=tolerances_of(program.tape, reference.tape, allowed),
    )
    try:
        async with deadline.bounding():  # the reference's time is not known when the turn begins
            outcome, step = await placed_outcome(gpu, order, how, deadline)
    except FrameError as error:
        return too_large_order(error, program.role), Replayed()
    if outcome.ending is LaunchEnding.DEADLINE:
        step.timed_out()
    return both_of(outcome, program.tape, reference.tape, how.timeout_s)


def tolerances_of(tape: Tape, reference: Tape, allowed: OutputTolerances) -> dict[int, Tolerance]:
    """Return the tolerances of outputs by position, of those that have a partner.

    A partner has the same position, path, shape and dtype in the reference, in both calls.
    """
    ours, theirs = ([_tensors(side, call) for call in (0, 1)] for side in (tape, reference))
    tolerances: dict[int, Tolerance] = {}
    for position, first in enumerate(ours[0]):
        calls = zip(ours, theirs, strict=True)
        if all(_at(own, position) == _at(other, position) for own, other in calls):
            tolerances[position] = allowed.of(first[0], compared_dtype(first[1]))
    return tolerances


_Output = tuple[str, str, tuple[int, ...]]


def _tensors(tape: Tape, call: int) -> list[_Output]:
    """Return path, dtype and shape of each tensor that a call returns, in order."""
    returned: Structure = (tape.outputs, tape.outputs2)[call]
    return [
        (path, tape.tensors[value.id].dtype, tape.tensors[value.id].shape)
        for path, value in by_path(returned).items()
        if isinstance(value, TensorRef)
    ]


def _at(outputs: list[_Output], position: int) -> _Output | None:
    return outputs[position] if position < len(outputs) else None
