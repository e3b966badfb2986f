"""Replays a program that passed on the CPU device, or its reference, with a change.

No tape can foresee the change. The replay then shows what the outputs need.
"""

import asyncio
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from launch.request.verdict import RunEnding
from programs.program_job import CANDIDATE, REFERENCE
from programs.replay.replay_order import Experiment
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_attempt import ProgramAttempt
from programs.worker.program_comparison import compare
from programs.worker.program_kernels import ProgramKernels
from programs.worker.program_recordings import RecordedCase
from programs.worker.record_child import ProgramTape
from programs.worker.replayed import Replayed, ReplayedCall, ReplayedTensor

_SEED_BITS = 48


@dataclass(frozen=True, slots=True)
class PassedProgram:
    """A program that passed, and its reference, with their kernels and replays."""

    recorded: RecordedCase
    kernels: ProgramKernels
    replayed: Replayed
    reference: ProgramTape
    reference_kernels: ProgramKernels
    expected: Replayed


@dataclass(frozen=True, slots=True)
class ProgramTrials:
    """Replays a program that passed, and its reference, with changes."""

    attempt: ProgramAttempt
    passed: PassedProgram
    tolerances: OutputTolerances

    async def candidate(self, experiment: Experiment) -> Replayed:
        """Replay the program with a change. Raises DeadlinePassed, ZygoteError."""
        passed, program = self.passed, self.passed.recorded.candidate
        given = passed.recorded.inputs_of(program)
        return await self.attempt.replay(program, passed.kernels, given, CANDIDATE, experiment)

    async def reference(self, experiment: Experiment) -> Replayed:
        """Replay the reference with a change. Raises as `candidate`."""
        passed, program = self.passed, self.passed.reference
        given = passed.recorded.inputs_of(program)
        kernels = passed.reference_kernels
        return await self.attempt.replay(program, kernels, given, REFERENCE, experiment)

    async def follows(self, noisy: Collection[int], share: float = 1.0) -> bool:
        """Return True if outputs change with noise in these ops' results, or the replay fails."""
        seed = secrets.randbits(_SEED_BITS)
        experiment = Experiment(noise=sorted(noisy), noise_share=share, seed=seed)
        replayed = await self.candidate(experiment)
        if not is_finished(replayed):
            return True
        # in a thread: outputs may be large
        return not await asyncio.to_thread(
            _same_bits, replayed.calls[0], self.passed.replayed.calls[0]
        )

    async def matches(self, replayed: Replayed) -> bool:
        """Return True if the outputs of a changed replay match the reference's."""
        if not is_finished(replayed):
            return False
        pool = self.attempt.context.comparing
        compared = await compare(pool, replayed, self.passed.expected, self.tolerances)
        return bool(compared.matches) and all(compared.matches)


def is_finished(replayed: Replayed) -> bool:
    """Return True if an experiment ran to the end of the first call, without a finding."""
    ended = replayed.ending is RunEnding.FINISHED and replayed.problem is None
    return ended and not replayed.findings and len(replayed.calls) == 1


def _same_bits(one: ReplayedCall, other: ReplayedCall) -> bool:
    return one.keys() == other.keys() and all(
        _octets(item) == _octets(other[path]) for path, item in one.items()
    )


def _octets(item: object) -> bytes | None:
    """Return the elements of a tensor; None for a plain value, which no noise changes."""
    if not isinstance(item, ReplayedTensor) or item.data is None:
        return None
    return bytes(item.data)
