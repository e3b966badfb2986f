"""What had to be assumed while user code was executed, and whether anything stood in for it.

Where a module, a GPU or an answer of theirs is not here, user code is told something in its place;
each time it decides by that, the line is noted here, so that the answer can say so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from compiler.excerpt import file_in_kernel

_MOST = 50


@dataclass(frozen=True)
class Assumption:
    """What was assumed, where user code asked."""

    file: str
    line: int
    message: str


@dataclass
class Assumptions:
    """The assumptions of one execution; `touches` counts every use of a stand-in."""

    made: list[Assumption] = field(default_factory=list)
    touches: int = 0

    def touch(self) -> None:
        """Note that something was used that is not the real thing, without deciding anything."""
        self.touches += 1

    def assume(self, message: str) -> None:
        """Note what user code was told, at its own line."""
        self.touches += 1
        place = asking()
        if place is not None:
            self.add(Assumption(*place, message))

    def add(self, assumption: Assumption) -> None:
        """Note an assumption once; beyond a bound no more."""
        if assumption not in self.made and len(self.made) < _MOST:
            self.made.append(assumption)


def asking() -> tuple[str, int] | None:
    """Return the user's file and line that is being executed, the innermost one."""
    frame = sys._getframe(1)
    while frame is not None:
        file = file_in_kernel(frame.f_code.co_filename)
        if file is not None:
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None
