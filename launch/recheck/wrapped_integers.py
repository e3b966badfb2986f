"""Compares a run of a kernel as it is with one in 64 bits: the accesses that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

import numpy as np

from compiler.ttir_to_numpy.blocks import reached_from
from compiler.ttir_to_numpy.ir import IrBlock, Operation
from launch.buffers.element_types import Array
from launch.recheck.access_memory import BegunTurn, Event, ReachedElements, WatchedBuffer
from launch.recheck.access_slice import depends_on
from launch.recheck.kernel_form import BatchRun

MASK_DIFFERS = "runs other lanes than with integers of 64 bits"
LOOP_DIFFERS = "depends on a loop that ends otherwise with integers of 64 bits"
Step = tuple[int, int, int]
"""The numbers of a region in its operation, of a block in it, and of an operation in that."""
Place = tuple[Step, ...]
"""The way from a function to an operation in it, through those around it."""


@dataclass
class WrappedIntegers:
    """The comparison of a kernel as it is with the same in 64 bits, for one batch of programs.

    `found` is what accesses do that use an integer that wrapped, by their numbers. Where control
    flow differs, these are the accesses that only one of both runs makes, and the comparison goes
    on behind them. What comes after a loop that ends in one run alone may be right.
    """

    runs: tuple[BatchRun, BatchRun]
    buffers: Sequence[WatchedBuffer]
    function: Operation
    accesses: Sequence[Operation]
    messages: dict[int, str] = field(default_factory=dict)
    _at: list[int] = field(default_factory=lambda: [0, 0])
    """The first events that were not compared."""
    _places: Places | None = None

    def __post_init__(self) -> None:
        traces = [run.trace for run in self.runs]
        while all(at < len(trace) for at, trace in zip(self._at, traces, strict=True)):
            mine, other = (trace[at] for at, trace in zip(self._at, traces, strict=True))
            if _name(mine) == _name(other):
                self._compare(mine, other)
                self._at = [at + 1 for at in self._at]
            elif not self._go_behind(mine, other):
                return
        for number, run in enumerate(self.runs):
            if run.is_whole:
                self._note(_live(self._rest(1 - number)), MASK_DIFFERS)

    def _rest(self, number: int) -> Sequence[Event]:
        return self.runs[number].trace[self._at[number] :]

    def _compare(self, mine: Event, other: Event) -> None:
        if isinstance(mine, ReachedElements) and isinstance(other, ReachedElements):
            message = _difference(mine, other, self.buffers)
            if message:
                self.messages.setdefault(mine.access, message)

    def _go_behind(self, mine: Event, other: Event) -> bool:
        """Go on behind the operation that the runs do not do alike; return False without one."""
        self._places = self._places or Places(self.function)
        parted = self._places.where_parted(self._place(mine), self._place(other))
        if parted is None:
            for number in (0, 1):
                made = [event for event in self._rest(number) if isinstance(event, ReachedElements)]
                self._note(made[:1], MASK_DIFFERS)
            return False
        for number, run in enumerate(self.runs):
            rest = self._rest(number)
            inside = list(
                takewhile(lambda event: self._place(event)[: len(parted)] == parted, rest)
            )
            self._at[number] += len(inside)
            self._note(_live(inside), MASK_DIFFERS)
            if len(inside) == len(rest) and not run.is_whole:
                self._note_dependent(inside, self._rest(1 - number), parted)
        return True

    def _note(self, made: Iterable[ReachedElements], message: str) -> None:
        for access in made:
            self.messages.setdefault(access.access, message)

    def _note_dependent(
        self, inside: Sequence[Event], following: Sequence[Event], parted: Place
    ) -> None:
        """Note what comes after a loop that one run did not end, and depends on it."""
        assert self._places is not None
        loop = self._places.operations[parted]
        turns = [event.active for event in inside if isinstance(event, BegunTurn)]
        turning = [np.ones(1, np.bool_) if active is None else active for active in turns]
        met = (
            event
            for event in _live(following)
            if any((_programs(event) & t).any() for t in turning)
        )
        for access, event in {event.access: event for event in met}.items():
            if depends_on(self.function, self.accesses[access], loop):
                self._note([event], LOOP_DIFFERS)

    def _place(self, event: Event) -> Place:
        assert self._places is not None
        if isinstance(event, BegunTurn):
            return self._places.of[event.operation]
        return self._places.of[self.accesses[event.access].number]


def _name(event: Event) -> tuple[bool, int]:
    if isinstance(event, BegunTurn):
        return True, event.operation
    return False, event.access


def _live(events: Iterable[Event]) -> Iterator[ReachedElements]:
    for event in events:
        if isinstance(event, ReachedElements) and _programs(event).any():
            yield event


def _programs(made: ReachedElements) -> Array:
    """Return the programs with a live lane; one entry if all agree."""
    if made.live is None:
        return np.ones(1, np.bool_)
    return np.asarray(made.live.reshape(len(made.live), -1).any(axis=1))


def _difference(
    mine: ReachedElements, other: ReachedElements, buffers: Sequence[WatchedBuffer]
) -> str:
    lanes = [np.bool_(True) if event.live is None else event.live for event in (mine, other)]
    if mine.live is not other.live and (lanes[0] != lanes[1]).any():
        return MASK_DIFFERS
    differs = (mine.elements != other.elements) & lanes[0]
    if not differs.any():
        return ""
    at = tuple(int(place) for place in np.argwhere(differs)[0])
    mine_at, other_at = (
        int(np.broadcast_to(event.elements, differs.shape)[at]) for event in (mine, other)
    )
    number = mine.buffer if isinstance(mine.buffer, int) else int(mine.buffer.flat[0])
    name = buffers[number].name if 0 <= number < len(buffers) else "an address"
    return f"uses {name}[{mine_at:,}] in place of [{other_at:,}]"


class Places:
    """The operations of a function by their places, and their places by their numbers."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self.operations = dict(_inside(function, ()))
        self.of = {
            operation.number: place
            for place, operation in self.operations.items()
            if operation.number >= 0
        }

    def where_parted(self, a: Place, b: Place) -> Place | None:
        """Return the outermost operation that two runs, equal so far, do not do alike.

        One run is next at `a`, the other one at `b`. To be at a loop is to begin a turn of it. None
        where the two are in blocks of one region, neither of which comes before the other one.
        """
        shared = 0
        while shared < min(len(a), len(b)) and a[shared] == b[shared]:
            shared += 1
        if shared in (len(a), len(b)):  # one run begins another turn, one is still in its turn
            return max(a, b, key=len)[: shared + 1]
        if a[shared][:2] == b[shared][:2]:
            return min(a, b)[: shared + 1]
        if a[shared][0] == b[shared][0]:
            holder = self.operations[a[:shared]] if shared else self._function
            blocks = holder.regions[a[shared][0]]
            for first, other in ((a, b), (b, a)):
                if _always_leads(blocks, first[shared][1], other[shared][1]):
                    return first[: shared + 1]  # the other run passed it, and did nothing there
            return None
        if self.operations[a[:shared]].name == "scf.while":  # its second region ends a turn
            return max(a, b)[: shared + 1]
        return a[:shared]


def _inside(operation: Operation, around: Place) -> Iterator[tuple[Place, Operation]]:
    for region, blocks in enumerate(operation.regions):
        for block, inner_block in enumerate(blocks):
            for index, inner in enumerate(inner_block.operations):
                place = (*around, (region, block, index))
                yield place, inner
                yield from _inside(inner, place)


def _always_leads(blocks: Sequence[IrBlock], first: int, then: int) -> bool:
    """Return whether every way to a block goes through `first`, and none comes back to that."""
    by_label = {block.label: block for block in blocks}
    a, b = blocks[first], blocks[then]
    if any(a in reached_from(by_label[label], by_label) for label, _ in a.end.successors):
        return False
    ended = IrBlock(a.label, operations=[Operation("tt.return", [])])
    return a is blocks[0] or b not in reached_from(blocks[0], {**by_label, a.label: ended})
