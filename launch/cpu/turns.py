"""Runs programs that wait for each other: one goes on while the others wait in a loop.

Each runs until it ends, or goes many rounds of loops without a number; then the others have their
turns. If a turn of each program changes nothing, neither in memory nor in the program, none can
ever go on, whatever the order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from types import GeneratorType
from typing import Any

import numpy as np

from launch.buffers.allocation import Allocation
from launch.buffers.element_types import Array
from launch.checks.checked_memory import AccessChecker
from launch.checks.finding import KernelLocation, Stopped
from launch.checks.stuck import StuckProgram, endless_loop, stuck
from launch.cpu.control_flow import Branch, Rounds
from launch.cpu.descriptors import BlockPointer, TensorDescriptor
from launch.cpu.instance_locations import InstanceLocations, Suspended, frames_of
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances

_FIRST_ROUNDS = 64
"""Rounds of a program before the others have a turn; later turns have one."""
MAX_AT_ONCE = 4096
"""Programs that wait at the same time; more do not start, as on a GPU."""
_QUIET_PASSES = 4
"""Passes in which no program ends, until it is examined whether anything changes."""


@dataclass(slots=True)
class _Suspended:
    """A program that waits, perhaps, and what it needs to go on."""

    steps: Suspended
    own: Any
    checked: Any


class Turns:
    """Runs programs of one launch in turns; `begin` starts one, which is a generator if it waits.

    Only if `all_run`, none that the launch has left out can end the waiting.
    """

    def __init__(
        self,
        programs: ProgramInstances,
        checker: AccessChecker,
        allocations: Sequence[Allocation],
        locations: InstanceLocations,
        *,
        all_run: bool,
    ) -> None:
        self._programs, self._checker = programs, checker
        self._allocations, self._locations, self._all_run = allocations, locations, all_run
        self._started = 0

    def run(self, numbers: Iterable[Array], begin: Callable[[Array], Any]) -> None:
        """Run the programs with these `numbers`, or those until a load fails. Raises `Stopped`."""
        begun = (
            suspended for each in numbers if (suspended := self._begun(begin(each))) is not None
        )
        waiting = _up_to(MAX_AT_ONCE, begun)
        quiet, patience = 0, _QUIET_PASSES
        while waiting and not self._checker.failed_loads:
            left = [suspended for suspended in reversed(waiting) if self._goes_on(suspended)]
            quiet = 0 if len(left) < len(waiting) else quiet + 1
            if quiet >= patience:
                left = self._that_changed(left)
                quiet, patience = 0, 2 * patience
            waiting = left + _up_to(MAX_AT_ONCE - len(left), begun)

    def _begun(self, started: Any) -> _Suspended | None:
        """Return a program after its first rounds, None if it has ended."""
        self._started += 1
        if not isinstance(started, GeneratorType):
            return None
        for _ in range(_FIRST_ROUNDS):
            if not _next(started):
                return None
        if self._checker.failed_loads:
            _end(started)
            return None
        return _Suspended(started, self._programs.suspend(), self._checker.suspend())

    def _goes_on(self, suspended: _Suspended) -> bool:
        """Give a program one turn; return False if it has ended."""
        if self._checker.failed_loads:
            return False
        self._programs.resume(suspended.own)
        self._checker.resume(suspended.checked)
        if not _next(suspended.steps):
            return False
        if self._checker.failed_loads:
            _end(suspended.steps)
            return False
        suspended.own, suspended.checked = self._programs.suspend(), self._checker.suspend()
        return True

    def _that_changed(self, waiting: list[_Suspended]) -> list[_Suspended]:
        """Give each program a turn; return those that have not ended.

        Raises `Stopped` if no turn changed anything.
        """
        left, changed, endless = [], False, []
        for suspended in waiting:
            before, reads = self._contents(suspended), self._checker.reads
            if self._goes_on(suspended):
                left.append(suspended)
                if self._checker.reads == reads:
                    endless.append(suspended)
            changed |= not left or left[-1] is not suspended or self._contents(suspended) != before
        # a program that is alone waits for no other: it is a loop without an end
        if not changed and self._all_run and left and self._started > 1:
            if endless:
                raise Stopped(endless_loop(self._waiting(endless[0]).location))
            raise Stopped(stuck([self._waiting(suspended) for suspended in left]))
        return left

    def _contents(self, suspended: _Suspended) -> list[Any]:
        """Return all that a turn of the program can change."""
        memory = [blake2b(each.memory.view(np.uint8).data).digest() for each in self._allocations]
        frames = [
            (
                frame.f_lineno,
                sorted((name, _words(value)) for name, value in frame.f_locals.items()),
            )
            for frame in frames_of(suspended.steps)
        ]
        return [*memory, *frames]

    def _waiting(self, suspended: _Suspended) -> StuckProgram:
        self._programs.resume(suspended.own)
        self._checker.resume(suspended.checked)
        location: KernelLocation = self._locations.of(suspended.steps, self._programs.program_at(0))
        return StuckProgram(location, self._checker.last)


def _up_to(most: int, begun: Iterator[_Suspended]) -> list[_Suspended]:
    some: list[_Suspended] = []
    while len(some) < most and (suspended := next(begun, None)) is not None:
        some.append(suspended)
    return some


def _next(steps: Suspended) -> bool:
    try:
        next(steps)
    except StopIteration:
        return False
    return True


def _end(steps: Suspended) -> None:
    """Let a program end whose load has failed: its own limit of rounds ends it."""
    while _next(steps):
        pass


def _words(value: Any) -> Any:
    """Return a value of a frame as what compares equal only if it is the same."""
    match value:
        case np.ndarray():
            return (value.dtype.str, value.shape, value.tobytes())
        case Pointer():
            return (value.dtype.str, value.address.shape, value.address.tobytes())
        case TensorDescriptor() | BlockPointer():
            return [_words(each) for _, each in sorted(vars(value).items())]
        case tuple() | list():
            return [_words(each) for each in value]
        case Branch() | Rounds():
            return type(value).__name__  # what they keep is in variables, too
        case np.generic() | int() | float() | str() | np.dtype() | None:
            return repr(value)
    return id(object())
