"""The findings of programs that cannot end: they wait, or repeat a loop."""

from collections.abc import Sequence
from dataclasses import dataclass

from launch.buffers.allocation import Leaf
from launch.buffers.element_types import stored
from launch.checks.access import Lanes
from launch.checks.finding import KernelLocation, finding_at, index_of, subscript
from launch.messages import Finding

_MAX_LINES = 4


@dataclass(frozen=True)
class StuckProgram:
    """A program that waits: its line, and what it accessed last."""

    location: KernelLocation
    last: Lanes | None

    @property
    def element(self) -> tuple[Leaf, list[int]] | None:
        """The argument of its last access, and the index of the first lane."""
        if self.last is None or not self.last.offsets.size:
            return None
        leaf = self.last.slot.leaf
        return leaf, index_of(int(self.last.offsets[0]) // stored(leaf.dtype).itemsize, leaf)

    @property
    def words(self) -> str:
        """The program, its line, and the element that it reads there."""
        element = self.element
        read = (
            "" if element is None else f" for a value of {subscript(element[0].name, element[1])}"
        )
        return f"program {self.location.program} waits at line {self.location.line}{read}"


def stuck(waiting: Sequence[StuckProgram]) -> Finding:
    """Return the finding of a launch in which only these programs are left, and none goes on."""
    first_at: dict[int | None, StuckProgram] = {}
    for program in waiting:
        first_at.setdefault(program.location.line, program)
    named = list(first_at.values())[:_MAX_LINES]
    more = len(waiting) - len(named)
    first = named[0]
    also = f", and {more} more programs wait" if more else ""
    message = (
        f"No program can go on, in any order: {', '.join(each.words for each in named)}{also}. "
        "All other programs have ended, and nothing changes what is waited for. Write it before "
        "each wait for another program, and release each lock."
    )
    leaf, index = first.element or (None, None)
    argument = None if leaf is None else leaf.name
    return finding_at("deadlock", first.location, message, argument=argument, index=index)


def endless_loop(location: KernelLocation) -> Finding:
    """Return the finding of a program that repeats a loop that reads no memory."""
    message = (
        f"The loop at line {location.line} does not end in program {location.program}: a round of "
        "it reads no memory, and changes nothing. Change what its condition depends on."
    )
    return finding_at("endless_loop", location, message)
