"""Conditions, loops and early returns of diverging programs, as masks of active programs.

If all programs of a batch take the same branch, there is no mask. Inactive programs compute along,
but their results are dropped and they make no accesses.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.cpu.descriptors import BlockPointer, TensorDescriptor
from launch.cpu.pointer import Pointer, merged
from launch.cpu.programs import ProgramInstances

Values = tuple[Any, ...]


def chosen(condition: Array, a: Any, b: Any) -> Any:
    """Return each program's value: from `a` where its `condition` holds, else from `b`."""
    if a is b:
        return a
    if isinstance(a, TensorDescriptor | BlockPointer):
        return a.merged(b, lambda x, y: chosen(condition, x, y))
    if isinstance(a, Pointer):
        return merged(lambda x, y: chosen(condition, x, y), a, b)
    rank = max(a.ndim, b.ndim)
    return np.where(condition.reshape(-1, *[1] * (rank - 1)), _of_rank(a, rank), _of_rank(b, rank))


def _of_rank(value: Array, rank: int) -> Array:
    return value.reshape(value.shape[0], *[1] * (rank - value.ndim), *value.shape[1:])


class Branch:
    """One `scf.if`: first the programs for which it holds run, then the others."""

    def __init__(self, programs: ProgramInstances, condition: Array) -> None:
        self._programs, self._outer = programs, programs.active
        self._condition = condition
        self._given: list[Values] = []
        self._sides = _sides(condition, self._outer)

    def holds(self) -> bool:
        """Activate the programs for which it holds; return True if there are any."""
        some, others = self._sides
        if some and others:
            self._programs.active = _both(self._condition, self._outer)
        return some

    def fails(self) -> bool:
        """Activate the other programs; return True if there are any."""
        some, others = self._sides
        if some and others:
            self._programs.active = _both(~self._condition, self._outer)
        return others

    def gives(self, *values: Any) -> None:
        """Record the results of the branch that ran."""
        self._given.append(values)

    def end(self) -> Values:
        """Activate all programs again; return each program's results."""
        self._programs.active = self._outer
        if not self._given:
            return ()
        if len(self._given) == 1:
            return self._given[0]
        pairs = zip(*self._given, strict=True)
        return tuple(chosen(self._condition, a, b) for a, b in pairs)


def _sides(condition: Array, outer: Array | None) -> tuple[bool, bool]:
    """Return two flags: `condition` holds for an active program, and fails for one."""
    if condition.size == 1:
        holds = bool(condition[0])
        return holds, not holds
    among = condition if outer is None else condition[outer]
    count = int(np.count_nonzero(among))
    return count > 0, count < among.size


def _both(condition: Array, outer: Array | None) -> Array:
    return condition if outer is None else condition & outer


class Rounds:
    """One `scf.while`: programs leave it in different rounds."""

    def __init__(self, programs: ProgramInstances) -> None:
        self._programs, self._outer = programs, programs.active
        self._passed: Values | None = None
        self._rounds = 0

    def passed(self, *values: Any) -> Values:
        """Return each program's result if this were its last round."""
        active = self._programs.active
        if self._passed is None or active is self._outer or active is None:
            self._passed = values
        else:
            pairs = zip(values, self._passed, strict=True)
            self._passed = tuple(chosen(active, new, old) for new, old in pairs)
        return self._passed

    def go_on(self, condition: Array) -> bool:
        """Activate only the programs that continue; after the last round, all of the loop's."""
        programs = self._programs
        self._rounds += 1
        programs.begin_round(self._rounds)
        some, others = _sides(condition, programs.active)
        if not some:
            programs.active = self._outer
        elif others:
            programs.active = _both(condition, programs.active)
        return some


class Paths:
    """The blocks of a function: the programs that reach each block, and its arguments."""

    def __init__(self, programs: ProgramInstances) -> None:
        self._programs, self._outer = programs, programs.active
        self._here: Array | None = programs.active
        self._condition: Array | None = None
        self._sides = (True, False)
        self._arrived: dict[int, tuple[Array | None, Values]] = {}
        self._left: tuple[Array | None, Values] | None = None

    def enters(self, block: int) -> bool:
        """Activate the programs that reach `block`; return True if there are any."""
        if block not in self._arrived:
            return False
        self._here = self._programs.active = self._arrived[block][0]
        return True

    def brought(self, block: int) -> Values:
        """Return the arguments of `block`."""
        return self._arrived[block][1]

    def go(self, block: int, *values: Any) -> None:
        """Branch to `block` with all active programs."""
        self._arrived[block] = _met(self._arrived.get(block), self._here, values)

    def part(self, condition: Array) -> None:
        """Split the active programs by `condition`."""
        self._condition = condition
        self._sides = _sides(condition, self._here)

    def those_go(self, block: int, *values: Any) -> None:
        """Branch to `block` with the programs for which the condition holds."""
        self._some_go(block, values, self._sides, self._condition)

    def others_go(self, block: int, *values: Any) -> None:
        """Branch to `block` with the other programs."""
        condition = self._condition
        negated = None if condition is None else ~condition
        self._some_go(block, values, self._sides[::-1], negated)

    def _some_go(
        self, block: int, values: Values, sides: tuple[bool, bool], condition: Array | None
    ) -> None:
        some, others = sides
        if some:
            who = _both(condition, self._here) if others and condition is not None else self._here
            self._arrived[block] = _met(self._arrived.get(block), who, values)

    def leave(self, *values: Any) -> None:
        """Return `values` from all active programs."""
        self._left = _met(self._left, self._here, values)

    def end(self) -> Any:
        """Activate all programs again; return the value that each program returned."""
        self._programs.active = self._outer
        values = self._left[1] if self._left is not None else ()
        return values if len(values) > 1 else values[0] if values else None


def _met(
    before: tuple[Array | None, Values] | None, who: Array | None, values: Values
) -> tuple[Array | None, Values]:
    """Return the arrived programs and their values after `who` join those from `before`."""
    if before is None or before[0] is None or who is None:
        return who, values
    pairs = zip(values, before[1], strict=True)
    together = before[0] | who
    met = tuple(chosen(who, new, old) for new, old in pairs)
    return None if together.all() else together, met


def loop(
    programs: ProgramInstances, start: Any, end: Any, step: Any, dtype: Any
) -> Iterator[Array]:
    """Yield the numbers of a loop; each program is active for its own rounds."""
    ends = [np.asarray(value, dtype).reshape(-1) for value in (start, end, step)]
    active = programs.active
    if any(value.size > 1 for value in ends):
        spread = np.broadcast_arrays(*ends)
        seen = spread if active is None else [value[active] for value in spread]
        if any((value != value[0]).any() for value in seen):
            yield from _masked_loop(programs, spread, dtype)
            return
        ends = [value[:1] for value in seen]
    first, last, by = (int(value[0]) for value in ends)
    was_uneven, programs.is_uneven = programs.is_uneven, False
    for number in range(first, last, by) if by > 0 else _endless(first, last, by, dtype):
        programs.begin_round()
        yield np.array([number]).astype(dtype)
    programs.is_uneven = was_uneven


def _endless(first: int, last: int, by: int, dtype: Any) -> Iterator[int]:
    """Yield the numbers of a loop that gets no closer to its end until its counter wraps."""
    bounds = np.iinfo(dtype)
    lowest, count = int(bounds.min), int(bounds.max) - int(bounds.min) + 1
    while first < last:
        yield first
        first = (first + by - lowest) % count + lowest


def _masked_loop(programs: ProgramInstances, ends: Sequence[Array], dtype: Any) -> Iterator[Array]:
    outer, was_uneven = programs.active, programs.is_uneven
    programs.is_uneven = True
    start, end, step = (value.astype(np.int64) for value in ends)
    apart = (end - start).view(np.uint64) - np.uint64(1)
    rounds = np.where(start < end, apart // np.maximum(step, 1).astype(np.uint64) + 1, 0)
    rounds = np.where((step <= 0) & (start < end), np.iinfo(np.uint64).max, rounds)
    number, done = start, 0
    while True:
        running = rounds > done if outer is None else (rounds > done) & outer
        if not running.any():
            break
        programs.active = None if running.all() else running
        programs.begin_round()
        yield number.astype(dtype)
        number, done = number + step, done + 1
    programs.active, programs.is_uneven = outer, was_uneven
