"""Replays a program and its reference on a GPU, in this order, in one turn or in two.

The candidate goes first: a kernel can read everything that its process has mapped, so expected
outputs must not have been there before.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from jobs.deadline import Deadline
from programs.worker.gpu.gpu_replay import (
    DeviceProgram,
    ProgramGpu,
    ReplayTurn,
    order_of,
    replay_on,
)
from programs.worker.gpu.paired_replay import is_too_large, replay_pair
from programs.worker.gpu.reference_replay_cache import ReferenceReplayCache, key_of
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.replayed import Replayed


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
        replayed = await replay_on(self.gpu, candidate, self.turn, self.deadline)
        await self.report(candidate.role, replayed)
        if reference is None or not replayed.is_whole:
            return replayed, None
        return replayed, await self._reference(reference)

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

    async def _reference(self, reference: DeviceProgram) -> Replayed:
        turn, gpu = self.turn.of_reference, self.gpu
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
