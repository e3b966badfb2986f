"""The programs that run at once: their ids, and the mask of the active ones."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.checked_memory import TooManyAccesses

ProgramId = tuple[int, int, int]
_MAX_FURTHER_ROUNDS = 1000


class RoundsSpent(BaseException):
    """Ends a program that was to end soon, after too many rounds of its loops."""


class MayWait(BaseException):
    """Ends a run in which a loop of a program has run long enough that it may be waiting."""


ProgramState = tuple[Any, ...]
"""A program that is suspended, as `ProgramInstances` keeps it."""


class ProgramInstances:
    """A batch of programs of one grid, numbered with the first axis fastest.

    `active` masks the programs that execute the current operation: a bool for each, `None` for all.
    In a loop that `is_uneven`, programs that have left the loop keep their values. `rounds` counts
    those of all loops, up to `most_rounds`; `most_of_loop` is for one loop without a number.
    """

    def __init__(
        self,
        grid: Sequence[int],
        most_rounds: int | None = None,
        most_of_loop: int | None = None,
    ) -> None:
        self.rounds = 0
        self._most_of_loop = most_of_loop
        self._most_rounds = most_rounds
        width, height, depth = (*grid, 1, 1)[:3]
        self.grid: ProgramId = (width, height, depth)
        self._sizes = [np.array([size], np.int32) for size in self.grid]
        self._rounds_left: int | None = None
        self.begin(np.zeros(1, np.int64))

    def begin(self, numbers: Array) -> None:
        """Start a batch of the programs with these `numbers` (int64, in order), all active."""
        width, height, _ = self.grid
        self.numbers = numbers
        self.active: Array | None = None
        self.is_uneven = False
        self._lanes: tuple[int, ...] | None = None
        self._rounds_left = None
        rows = numbers // width
        axes = (numbers - rows * width, rows % height, rows // height)
        self._pids = [_narrow(axis.astype(np.int32)) for axis in axes]

    @property
    def count(self) -> int:
        """Return the number of programs in the batch: the length of a full leading axis."""
        return self.numbers.size

    def end_soon(self) -> None:
        """Let the batch go on for a limited number of rounds of loops: a value is not its own."""
        if self._rounds_left is None:
            self._rounds_left = _MAX_FURTHER_ROUNDS

    def suspend(self) -> ProgramState:
        """Return the state of the running batch, which will go on later."""
        return (
            self.numbers, self._pids, self.active, self.is_uneven, self._lanes, self._rounds_left,
        )  # fmt: skip

    def resume(self, state: ProgramState) -> None:
        """Go on with a batch that was suspended."""
        (
            self.numbers, self._pids, self.active, self.is_uneven, self._lanes, self._rounds_left,
        ) = state  # fmt: skip

    def begin_round(self, of_loop: int = 0) -> None:
        """Count a round of a loop; `of_loop` is its number in a loop without one.

        Raises `RoundsSpent`, and beyond the most `TooManyAccesses` or `MayWait`.
        """
        self.rounds += 1
        if self._most_of_loop is not None and of_loop > self._most_of_loop:
            raise MayWait
        if self._most_rounds is not None and self.rounds > self._most_rounds:
            raise TooManyAccesses
        if self._rounds_left is not None:
            self._rounds_left -= 1
            if self._rounds_left < 0:
                raise RoundsSpent

    def program_id(self, axis: int) -> Array:
        """Return each program's number along `axis` as int32; one element if all are equal."""
        pids = self._pids[axis]
        if self._lanes is None or pids.size == 1:
            return pids
        return np.broadcast_to(pids, self._lanes).reshape(-1)

    def num_programs(self, axis: int) -> Array:
        """Return the grid's size along `axis` as one int32 element."""
        return self._sizes[axis]

    def program_at(self, position: int) -> ProgramId:
        """Return the indices of the program at a position of the leading axis."""
        width, height, _ = self.grid
        row, x = divmod(int(self.numbers[position % self.count]), width)
        z, y = divmod(row, height)
        return x, y, z

    def first_active(self) -> int:
        """Return the position of the first active program."""
        return 0 if self.active is None else int(self.active.argmax())

    @contextmanager
    def lanes(self, shape: tuple[int, ...]) -> Iterator[None]:
        """Treat every lane of tensors as a separate program, with its own control flow.

        `shape` is that of the tensors, with programs as the last axis. In the block, the leading
        axis has all lanes in order.
        """
        outer, around = self.active, self._lanes
        if outer is not None:
            self.active = np.broadcast_to(outer, shape).reshape(-1)
        self._lanes = shape
        yield
        self.active, self._lanes = outer, around


def _narrow(pids: Array) -> Array:
    return pids[:1] if pids.size > 1 and (pids == pids[0]).all() else pids
