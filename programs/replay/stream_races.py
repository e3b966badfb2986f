"""Finds races: ops that use the same memory in streams of which neither waits for the other.

For each element of shared memory, this tracks the last op of each stream that read, wrote or
atomically changed it. Atomic operations of two launches need no order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import torch

from launch.checks.touched_memory import TouchedBytes
from launch.messages import Finding
from programs.replay.operators import DTYPES
from programs.tape.overload_effects import name_of
from programs.tape.schema import (
    AtenOp,
    Op,
    Phase,
    ReinterpretedArgument,
    Seeding,
    Tape,
    TapeLaunch,
)
from programs.tape.stream_order import StreamOrder, Timestamp, read_by_caller, unordered

READ, STORED, UPDATED = range(3)  # in the order of TouchedBytes
_BESIDE = {READ: (STORED, UPDATED), STORED: (READ, STORED, UPDATED), UPDATED: (READ, STORED)}
"""The uses that must not happen at the same time."""
RACE = "race"
_NEVER = -1
_INDEXING = frozenset({
    "index", "index_select", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index",
    "index_add_", "index_copy_", "index_fill_", "gather", "scatter_", "scatter_add_",
    "scatter_reduce_", "embedding", "embedding_renorm_", "take", "take_along_dim",
    "masked_fill_", "masked_scatter_",
})  # fmt: skip
"""Ops that use some elements of a tensor, by index values."""
_ADVICE = (
    "Make one stream wait for the other: with other_stream.wait_stream(stream), with an event, or "
    "with torch.cuda.synchronize()."
)
_Use = tuple[int, int, int | torch.Tensor]
"""The kind of a use, its storage, and its elements: a tensor, or a flag for each unit."""
Touched = Mapping[int, TouchedBytes]
"""The bytes that a launch touched, by storage."""


@dataclass(frozen=True, slots=True)
class _Conflict:
    """An earlier op, by its number, whose use may overlap; `is_sure` if it certainly does."""

    op: int
    use: int
    is_sure: bool


class StreamRaces:
    """Tracks the uses of memory in one run of a tape."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.storages = frozenset(unordered(tape))
        """Storages that ops may use in no defined order."""
        self._order = StreamOrder(tape) if self.storages else None
        self._units = _units(tape, self.storages)
        self._last: dict[int, dict[tuple[int, int], torch.Tensor]] = {}
        """The last op at each unit, by storage, and by stream and use."""
        self._phase: Phase | None = None

    def note(self, index: int, op: Op, touched: Touched | None = None) -> Finding | None:
        """Apply the next op of the tape; return the finding of a race with earlier ops, if any.

        `touched` are the accesses of a launch.
        """
        if self._order is None or isinstance(op, Seeding):
            return None
        if op.phase != self._phase:
            self._phase = op.phase
            self._last.clear()
        timestamp = self._order.timestamp(op)
        if isinstance(op, AtenOp):
            uses = self._uses_of_op(op)
        else:
            uses = self._uses_of_launch(touched or {})
        return self._taken(timestamp, index, op, uses)

    def note_return(self, phase: Phase) -> Finding | None:
        """Apply the end of a call, when its caller reads the results."""
        if self._order is None or phase != self._phase:
            return None
        left = read_by_caller(self._tape, phase)
        uses: list[_Use] = [(READ, self._tape.tensors[id_].storage, id_) for id_ in left]
        return self._taken(self._order.timestamp_of_caller(phase), None, None, uses)

    def free(self, storages: Iterable[int]) -> None:
        """Forget freed storages."""
        for storage in storages:
            self._last.pop(storage, None)

    def _uses_of_op(self, op: AtenOp) -> list[_Use]:
        assert self._order is not None
        used = self._order.used(op)
        pairs = ((READ, used.reads), (STORED, used.writes))
        return [(use, self._tape.tensors[id_].storage, id_) for use, ids in pairs for id_ in ids]

    def _uses_of_launch(self, touched: Touched) -> list[_Use]:
        found: list[_Use] = []
        for storage, flags in touched.items():
            unit = self._units[storage]
            for use, octets in enumerate((flags.read, flags.stored, flags.updated)):
                if octets.any():
                    units = torch.zeros(self._unit_count(storage), dtype=torch.bool)
                    whole = torch.from_numpy(octets).view(-1, unit).any(dim=1)
                    units[: whole.numel()] = whole
                    found.append((use, storage, units))
        return found

    def _unit_count(self, storage: int) -> int:
        return -(-self._tape.storages[storage] // self._units[storage])

    def _taken(
        self,
        timestamp: Timestamp,
        index: int | None,
        op: AtenOp | TapeLaunch | None,
        uses: Sequence[_Use],
    ) -> Finding | None:
        """Check each use against earlier ones, then record it; return a finding if there is one."""
        found = None
        uses = [use for use in uses if use[1] in self.storages]
        for use, storage, where in uses:
            for conflict in self._conflicts(
                timestamp, use, storage, where, is_partial=_is_partial(op)
            ):
                if found is None or (conflict.is_sure and found.kind != RACE):
                    found = self._finding(op, timestamp, use, conflict)
        if timestamp.stream is not None and index is not None:
            for use, storage, where in uses:
                last = self._last.setdefault(storage, {})
                if (timestamp.stream, use) not in last:
                    never = torch.full((self._unit_count(storage),), _NEVER, dtype=torch.int32)
                    last[timestamp.stream, use] = never
                self._put(last[timestamp.stream, use], storage, where, index)
        return found

    def _conflicts(
        self,
        timestamp: Timestamp,
        use: int,
        storage: int,
        where: int | torch.Tensor,
        *,
        is_partial: bool,
    ) -> Iterator[_Conflict]:
        """Yield the last op of each other stream that may still use these elements.

        If one of the two uses only some elements, they certainly overlap if the other uses all.
        """
        for (stream, other), last in self._last.get(storage, {}).items():
            if other not in _BESIDE[use] or stream == timestamp.stream:
                continue
            at = self._region(last, storage, where) if isinstance(where, int) else last[where]
            latest = int(at.max()) if at.numel() else _NEVER
            if timestamp.waits_for(latest, stream):
                continue
            is_sure = True
            if is_partial:
                is_sure = bool((at > timestamp.over[stream]).all())
            if _is_partial(self._tape.ops[latest]):
                everywhere, here = ((one == latest).sum() for one in (last, at))
                is_sure = not is_partial and bool(everywhere == here)
            yield _Conflict(latest, other, is_sure)

    def _put(self, last: torch.Tensor, storage: int, where: int | torch.Tensor, index: int) -> None:
        if isinstance(where, int):
            self._region(last, storage, where).fill_(index)
        else:
            last[where] = index

    def _region(self, last: torch.Tensor, storage: int, id_: int) -> torch.Tensor:
        """Return the units of a tensor, with an axis of each element's units at the end."""
        meta = self._tape.tensors[id_]
        size = DTYPES[meta.dtype].itemsize // self._units[storage]
        strides = [stride * size for stride in meta.strides]
        return last.as_strided([*meta.shape, size], [*strides, 1], meta.offset * size)

    def _finding(
        self, op: AtenOp | TapeLaunch | None, timestamp: Timestamp, use: int, conflict: _Conflict
    ) -> Finding:
        first = self._tape.ops[conflict.op]
        assert not isinstance(first, Seeding)
        place = first.place if op is None else op.place
        line = f" at {first.place.file}:{first.place.line}" if first.place is not None else ""
        before = f"{self._op_text(first)}{line} {_DOES[conflict.use]} in {_stream(first.stream)}"
        if op is None:
            message = (
                f"A call returns memory that {before}, but its caller's stream does not wait for "
                f"that, so the caller may read too early. {_ADVICE}"
            )
        else:
            message = (
                f"{self._op_text(op)} in {_stream(timestamp.stream)} {_DOES[use]} memory that "
                f"{before}, without waiting for that, so either may come first. {_ADVICE}"
            )
        if not conflict.is_sure:
            message += " They may use different elements, as these depend on values."
        return Finding(
            kind=RACE if conflict.is_sure else "warning",
            access="read" if use == READ else "write",
            file=place.file if place is not None else None,
            line=place.line if place is not None else None,
            message=message,
        )

    def _op_text(self, op: AtenOp | TapeLaunch) -> str:
        if isinstance(op, TapeLaunch):
            return f"the launch of {self._tape.kernels[op.kernel].name}"
        return op.op


def _is_partial(op: Op | None) -> bool:
    return isinstance(op, AtenOp) and name_of(op) in _INDEXING


_DOES = {READ: "reads", STORED: "writes", UPDATED: "changes"}


def _stream(number: int | None) -> str:
    if number is None:
        return "the host"
    return f"stream {number}" if number else "the default stream"


def _units(tape: Tape, storages: Iterable[int]) -> Mapping[int, int]:
    """Return the unit of each storage: the bytes that divide the elements of all its tensors."""
    found = dict.fromkeys(storages, 0)
    for meta in tape.tensors:
        if meta.storage in found:
            found[meta.storage] = gcd(found[meta.storage], DTYPES[meta.dtype].itemsize)
    for op in tape.ops:
        for value in op.args.values() if isinstance(op, TapeLaunch) else ():
            if isinstance(value, ReinterpretedArgument):
                storage = tape.tensors[value.base.id].storage
                if storage in found:
                    found[storage] = gcd(found[storage], DTYPES[value.dtype].itemsize)
    return found
