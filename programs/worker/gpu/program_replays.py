"""A program and its reference on a GPU: in which order, and in how many of its turns.

The candidate goes first: a kernel can read whatever its process has mapped, so nothing that is
expected may have been there before.
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
from programs.worker.gpu.known_references import KnownReferences, key_of
from programs.worker.gpu.paired_replay import is_too_large, replay_beside
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.replayed import Replayed


@dataclass(frozen=True, slots=True)
class ProgramReplays:
    """Replays the programs of one attempt in the GPU's turns."""

    gpu: ProgramGpu
    turn: ReplayTurn
    """The candidate's."""
    tolerances: OutputTolerances
    deadline: Deadline
    known: KnownReferences
    report: Callable[[str, Replayed], Awaitable[None]]
    """Tells that a program of this role was replayed."""

    async def both(
        self, candidate: DeviceProgram, reference: DeviceProgram | None
    ) -> tuple[Replayed, Replayed | None]:
        """Return what came of both, None of a reference that is not needed any more.

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
        ours, theirs = await replay_beside(
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
        # who has the same one waits for what comes of it, but not behind work in the background
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
