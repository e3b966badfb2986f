"""Finds elements that two programs of one launch access, of which one writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from compiler.ttir_to_numpy.ir import Operation
from launch.buffers.element_types import Array
from launch.recheck.access_memory import ReachedElements
from launch.recheck.access_slice import KINDS

MAX_LANES = 1 << 18
"""Lanes of one launch that are compared; more are left out."""


@dataclass(frozen=True)
class Meeting:
    """Two programs, by their numbers in the grid, that meet in an element of a buffer."""

    buffer: int
    element: int
    programs: tuple[int, int]


@dataclass(frozen=True)
class _Lanes:
    """The live lanes of all accesses: one entry for each in every array."""

    access: Array
    buffer: Array
    element: Array
    program: Array


Batch = tuple[Sequence[ReachedElements], Sequence[int]]
"""The elements that programs which ran at once touched, and the numbers of these programs."""


def meetings(batches: Sequence[Batch], accesses: Sequence[Operation]) -> dict[int, Meeting]:
    """Return a meeting for each access that writes where another program reads or writes.

    Atomic operations do not race with each other, whichever they are: the prover decides about
    those.
    """
    lanes = _live_lanes(batches)
    if lanes is None:
        return {}
    order = np.lexsort((lanes.element, lanes.buffer))
    buffer, element = lanes.buffer[order], lanes.element[order]
    same = (buffer[1:] == buffer[:-1]) & (element[1:] == element[:-1])
    groups = np.concatenate([[0], np.cumsum(~same)])
    kinds = np.array([_KIND_NUMBERS[KINDS[operation.name]] for operation in accesses], np.int8)
    access, program = lanes.access[order], lanes.program[order]
    kind = kinds[access]
    meetings_by_access: dict[int, Meeting] = {}
    for number in np.unique(access[kind != _LOAD]).tolist():
        mine = np.flatnonzero(access == number)
        is_atomic = kind[mine[0]] == _ATOMIC
        others = kind != _ATOMIC if is_atomic else np.ones(len(kind), np.bool_)
        lowest = np.full(int(groups[-1]) + 1, _NOBODY, np.int64)
        highest = np.full(int(groups[-1]) + 1, -1, np.int64)
        np.minimum.at(lowest, groups[others], program[others])
        np.maximum.at(highest, groups[others], program[others])
        low, high = lowest[groups[mine]], highest[groups[mine]]
        meets = (high >= 0) & ((low != program[mine]) | (high != program[mine]))
        if meets.any():
            at = int(mine[int(meets.argmax())])
            own = int(program[at])
            partner = int(lowest[groups[at]])
            partner = partner if partner != own else int(highest[groups[at]])
            meetings_by_access[number] = Meeting(int(buffer[at]), int(element[at]), (own, partner))
    return meetings_by_access


_LOAD, _STORE, _ATOMIC = range(3)
_NOBODY = 1 << 62
_KIND_NUMBERS = {"load": _LOAD, "store": _STORE, "atomic": _ATOMIC}


def _live_lanes(batches: Sequence[Batch]) -> _Lanes | None:
    parts: list[tuple[Array, Array, Array, Array]] = []
    left = MAX_LANES
    for touches, numbers in batches:
        for touch in touches:
            shape = (len(numbers), *touch.shape)
            left -= int(np.prod(shape))
            if left < 0:
                break
            live = np.broadcast_to(True if touch.live is None else touch.live, shape)
            element = np.broadcast_to(touch.elements, shape)[live]
            buffer = np.broadcast_to(touch.buffer, shape)[live]
            column = np.array(numbers, np.int64).reshape(-1, *(1,) * len(touch.shape))
            program = np.broadcast_to(column, shape)[live]
            parts.append((np.full(len(element), touch.access), buffer, element, program))
    if not parts:
        return None
    access, buffer, element, program = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return _Lanes(access, buffer, element, program)
