"""Compares the result of a whole source with that of its slice.

Decides which of the two is the answer; runs nothing itself. The whole text wins where it ran
without a stand-in, as in Python: then its result is that of importing the posted file.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from compiler.diagnostic import Assumption
from worker.compile.progress import CompilationFailed
from worker.compile.reports import FrontReport

EXTRA_TIME_S = 5.0
"""Extra time that the whole source gets beyond its slice."""

UNFINISHED = Assumption(
    file="user.py",
    line=1,
    message=f"executing the whole source took {EXTRA_TIME_S:g} s longer than the kernel's part of "
    "it, and was ended: the statements outside of that part are assumed not to matter",
)


@dataclass(frozen=True, slots=True)
class FrontOutcome:
    """The outcome of executing a text, and the stages that it gave."""

    end: FrontReport | CompilationFailed
    stages: Mapping[str, bytes]

    @property
    def is_conclusive(self) -> bool:
        """True if the text was executed as Python would do it, with any outcome."""
        return self.end.conclusive


async def outcome(front: Awaitable[FrontReport], stages: Mapping[str, bytes]) -> FrontOutcome:
    """Return how `front` ends; it fills `stages`."""
    try:
        return FrontOutcome(await front, stages)
    except CompilationFailed as failure:
        return FrontOutcome(failure, stages)


async def in_time(whole: "asyncio.Task[FrontOutcome]") -> FrontOutcome | None:
    """Return how the whole text ended; end it and return `None` if it takes too long."""
    done, _ = await asyncio.wait({whole}, timeout=EXTRA_TIME_S)
    if done:
        return whole.result()
    await cancel(whole)
    return None


async def cancel(whole: "asyncio.Task[FrontOutcome]") -> None:
    """End the child of a whole source whose result is no longer needed."""
    whole.cancel()
    with suppress(asyncio.CancelledError):
        await whole


def agree(part: FrontOutcome, whole: FrontOutcome) -> bool:
    """Return True if the slice and the whole text have equal results, or fail alike."""
    if isinstance(part.end, CompilationFailed) or isinstance(whole.end, CompilationFailed):
        return (
            isinstance(part.end, CompilationFailed)
            and isinstance(whole.end, CompilationFailed)
            and (part.end.slug, str(part.end)) == (whole.end.slug, str(whole.end))
        )
    made = (part.end.kernel, part.end.language, part.end.locations, part.end.constexprs)
    same = (whole.end.kernel, whole.end.language, whole.end.locations, whole.end.constexprs)
    return part.stages == whole.stages and made == same
