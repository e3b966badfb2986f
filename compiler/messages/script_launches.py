"""Orders to children about the launches of a source's own script, and their reports.

Standard library only.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from compiler.messages.orders import Execution, Order

Hint = Literal["divisible_by_16", "equal_to_1", "pointer_range_32"]
MAX_LAUNCHES = 64
"""Launches that a report contains: the first of each kernel."""
MAX_STOP_CHARS = 300
MAX_LINES = 16
"""Lines of further launches of a kernel that a report names."""


@dataclass(frozen=True, kw_only=True)
class LaunchesOrder(Execution, Order):
    """Run a source as its own script, without torch and a GPU, and record its launches."""

    task = "launches"
    profile = "front"


@dataclass(frozen=True, kw_only=True)
class LaunchedParameter:
    """An argument of a launch, as Triton's JIT specializes on it.

    A constexpr has a `value` in tagged JSON and the type `constexpr`. An integer that is 1 has
    the hint `equal_to_1`. `is_guess`: a tensor is the result of an operation that is not known.
    Others have a `shape`, or `[elements]` that one with gaps reaches.
    """

    name: str
    type: str
    hints: list[Hint]
    value: Any = None
    is_guess: bool = False
    shape: list[int] | None = None
    number: Any = None


@dataclass(frozen=True, kw_only=True)
class KernelLaunch:
    """The first launch of a kernel, at its line, and the lines of further ones.

    `grid` is None where it cannot be computed, or is none.
    """

    kernel: str
    file: str
    line: int
    parameters: list[LaunchedParameter]
    options: dict[str, int]
    other_lines: list[int]
    grid: list[int] | None = None


@dataclass(frozen=True, kw_only=True)
class LaunchesReport:
    """The first launch of each kernel of the source, in their order.

    `stop` is the line at which the script ended, or a statement that it went on without, and the
    cause; None if it ran to its end. `needs` are modules that it imports and that the caller may
    have.
    """

    launches: list[KernelLaunch]
    stop: str | None = None
    needs: list[str] = field(default_factory=list)
