"""Replays a program and its reference on a GPU, in this order, in one turn or in two.

The candidate goes first: a kernel can read everything that its process has mapped, so expected
outputs must not have been there before. Where both fit into the memory at once they are then timed
in turns, on other inputs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from jobs.deadline import Deadline
from programs.replay.storage_lifetimes import lifetimes
from programs.worker.gpu.gpu_replay import (
    DeviceProgram,
    InTurns,
    ProgramGpu,
    ReplayTurn,
    order_of,
    replay_on,
)
from programs.worker.gpu.paired_replay import is_too_large, replay_pair, tolerances_of
from programs.worker.gpu.reference_replay_cache import ReferenceReplayCache, key_of
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.replayed import Replayed

_GRAPHS = 2
"""The ratio of the memory of timed graphs to the peak of one call."""


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
            return replayed, await self._reference(reference, self.turn.of_reference)
        found = await self._reference(reference, replace(self.turn.of_reference, timing=None))
        times, why = replayed.reference_times, replayed.reference_untimed
        return replayed, replace(found, times=times, untimed=why)

    def _may_take_turns(self, candidate: DeviceProgram, reference: DeviceProgram | None) -> bool:
        """Return True if both are to be timed, and fit into the GPU's memory with their graphs."""
        if reference is None or self.turn.timing is None:
            return False
        peaks = [lifetimes(one.tape).peak_bytes for one in (candidate, reference)]
        return sum(peaks) * _GRAPHS <= self.gpu.memory_bytes

    async def _candidate(
        self, candidate: DeviceProgram, reference: DeviceProgram | None
    ) -> Replayed:
        """Replay the candidate, and time it in turns with a reference."""
        if reference is None:
            return await replay_on(self.gpu, candidate, self.turn, self.deadline)
        beside = order_of(reference, self.turn.of_reference, self.gpu.memory_bytes)
        tolerances = tolerances_of(candidate.tape, reference.tape, self.tolerances)
        turns = InTurns(beside, reference.tape, tolerances)
        return await replay_on(self.gpu, candidate, self.turn, self.deadline, turns)

    async def _beside(
        self, candidate: DeviceProgram, reference: DeviceProgram
    ) -> tuple[Replayed, Replayed | None]:
        ours, theirs = await replay_pair(
            self.gpu, candidate, reference, self.turn, self.tolerances, self.deadline
        )
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
                replayed = await replay_on(gpu, reference, turn, self.deadline)
                self.known.keep(key, replayed)
        finally:
            lock.release()
        await self.report(reference.role, replayed)
        return replayed
