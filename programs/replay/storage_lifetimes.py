"""Computes the lifetimes of a tape's storages, and the peak of their memory.

This only reads the tape, so that memory is bounded before any is allocated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from programs.replay.replay_order import CALLS
from programs.tape.overload_effects import tensors_at, tensors_made, written_tensors
from programs.tape.schema import PHASES, AtenOp, InvalidTape, Op, Tape, tensors_of

START = -1
"""Before the first op."""


@dataclass(frozen=True)
class Lifetimes:
    """The storages to free after each op, and the peak memory."""

    freed_after: Mapping[int, Sequence[int]]
    """The storages that are no longer needed, by the op that used them last."""
    ends: Mapping[str, int]
    """The number of ops up to the end of each phase."""
    peak_bytes: int
    peak_at: int
    """The op during which `peak_bytes` are needed, or `START`."""


def lifetimes(tape: Tape) -> Lifetimes:
    """Return the lifetimes of storages. Raises `InvalidTape` for phases out of order."""
    ends = _ends(tape.ops)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, id_ in _uses(tape, ends):
        storage = tape.tensors[id_].storage
        first.setdefault(storage, index)
        last[storage] = max(index, last.get(storage, START))
    freed: dict[int, list[int]] = {}
    for storage, index in last.items():
        freed.setdefault(index, []).append(storage)
    peak_bytes, peak_at = _peak(tape.storages, first, freed)
    return Lifetimes(freed, ends, peak_bytes, peak_at)


def changed_tensors(op: Op) -> Iterator[int]:
    """Yield the tensors whose values an op may change; a launch may change all that it takes."""
    yield from written_tensors(op) if isinstance(op, AtenOp) else tensors_at(op)


def _ends(ops: Sequence[Op]) -> dict[str, int]:
    ends: dict[str, int] = dict.fromkeys(PHASES, 0)
    reached = 0
    for index, op in enumerate(ops):
        phase = PHASES.index(op.phase)
        if phase < reached:
            where = f"/ops/{index}/phase"
            raise InvalidTape(where, f"{op.phase} comes after {PHASES[reached]}")
        reached = phase
        for later in PHASES[phase:]:
            ends[later] = index + 1
    return ends


def _uses(tape: Tape, ends: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Yield (op, tensor): constants and what is given are there from the start."""
    for id_ in tape.constants:
        yield START, id_
    made = tensors_made(tape.ops)
    for structure in (*tape.init_inputs, *tape.inputs, *tape.inputs2):
        yield from ((START, id_) for id_ in tensors_of(structure) if id_ not in made)
    for index, op in enumerate(tape.ops):
        yield from ((index, id_) for id_ in tensors_at(op))
    for phase, outputs in zip(CALLS, (tape.outputs, tape.outputs2), strict=True):
        yield from ((max(ends[phase] - 1, 0), id_) for id_ in tensors_of(outputs))


def _peak(
    sizes: Sequence[int], first: Mapping[int, int], freed: Mapping[int, Sequence[int]]
) -> tuple[int, int]:
    begun: dict[int, int] = {}
    for storage, index in first.items():
        begun[index] = begun.get(index, 0) + sizes[storage]
    taken = peak = 0
    peak_at = START
    for index in sorted(begun.keys() | freed.keys()):
        taken += begun.get(index, 0)
        if taken > peak:
            peak, peak_at = taken, index
        taken -= sum(sizes[storage] for storage in freed.get(index, ()))
    return peak, peak_at
