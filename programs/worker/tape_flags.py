"""The flags of a candidate, from its tape and from its kernels' reads and writes."""

import asyncio
from collections.abc import Sequence

from programs.program_record import ProgramFlag
from programs.tape.flags import TapeFlag, flags_of
from programs.worker.program_kernels import ProgramKernels
from programs.worker.program_recordings import RecordedCase


async def tape_flags(recorded: RecordedCase, kernels: ProgramKernels) -> list[ProgramFlag]:
    """Return the flags of a candidate, given its kernels as far as they compiled."""
    # in a thread: the tape may be long
    found = await asyncio.to_thread(_flags, recorded, kernels)
    return [
        ProgramFlag(kind=flag.kind, message=flag.message, file=flag.file, line=flag.line)
        for flag in found
    ]


def _flags(recorded: RecordedCase, kernels: ProgramKernels) -> Sequence[TapeFlag]:
    reference = None if recorded.reference is None else recorded.reference.tape
    return flags_of(recorded.candidate.tape, kernels.effects(), reference)
