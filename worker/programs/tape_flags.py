"""The flags of a candidate: what its tape shows, with what its kernels may read and write."""

import asyncio
from collections.abc import Sequence

from programs.program_record import ProgramFlag
from programs.tape.flags import TapeFlag, flags_of
from programs.tape.kernel_effects import KernelEffects, kernel_effects
from worker.programs.program_kernels import ProgramKernels
from worker.programs.program_recordings import RecordedCase


async def tape_flags(recorded: RecordedCase, kernels: ProgramKernels) -> list[ProgramFlag]:
    """Return the flags of a candidate, whose kernels are compiled as far as they can be."""
    # in a thread: the tape and the texts may be long
    found = await asyncio.to_thread(_flags, recorded, kernels)
    return [
        ProgramFlag(kind=flag.kind, message=flag.message, file=flag.file, line=flag.line)
        for flag in found
    ]


def _flags(recorded: RecordedCase, kernels: ProgramKernels) -> Sequence[TapeFlag]:
    effects = {name: _effects(texts) for name, texts in kernels.ttirs().items()}
    reference = None if recorded.reference is None else recorded.reference.tape
    return flags_of(recorded.candidate.tape, effects, reference)


def _effects(ttirs: Sequence[str]) -> KernelEffects | None:
    """Return what a kernel may do in any of the ways in which it is compiled; None: anything."""
    reads, writes = frozenset[str](), frozenset[str]()
    for text in ttirs:
        found = kernel_effects(text)
        if found is None:
            return None
        reads, writes = reads | found.reads, writes | found.writes
    return KernelEffects(reads, writes)
