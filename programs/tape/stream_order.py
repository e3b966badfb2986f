"""Orders the ops of a tape across CUDA streams, and finds memory that is used without an order.

Each stream is a sequence of ops. The host is another one, and issues each op of a stream. All ops
before a call have finished when the call begins, as its caller waits for them. Linear in the ops.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from programs.tape.flow import KernelsEffects
from programs.tape.overload_effects import (
    kind_of,
    makes_views,
    read_tensors,
    tensors_at,
    written_tensors,
)
from programs.tape.schema import COPIES, AtenOp, Phase, Seeding, Tape, TapeLaunch, tensors_of

_NEVER = -1


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The time of an op: its stream (None: the host), and the last finished op of each stream."""

    stream: int | None
    over: Sequence[int]

    def waits_for(self, op: int, stream: int) -> bool:
        """Return True if an op of a stream has finished before."""
        return stream == self.stream or op <= self.over[stream]


@dataclass(frozen=True, slots=True)
class UsedTensors:
    """The tensors that an op reads and writes while the host and other streams run on."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


_NOTHING = UsedTensors((), ())


@dataclass(frozen=True, slots=True)
class Unordered:
    """Two ops that may use a storage at the same time; at least one writes it."""

    first: int
    second: int | None
    """None for the caller, when a call returns."""


class StreamOrder:
    """The order of a tape's ops, op by op."""

    def __init__(self, tape: Tape, effects: KernelsEffects | None = None) -> None:
        """Use the `effects` of kernels, as far as they are known."""
        self._tape, self._effects = tape, effects or {}
        self.streams = 1 + max((op.stream for op in _with_stream(tape)), default=0)
        self._over = {stream: self._nothing() for stream in (None, *range(self.streams))}
        self._pinned = frozenset(pinned_storages(tape))

    def timestamp(self, op: AtenOp | TapeLaunch) -> Timestamp:
        """Return the timestamp of the next op."""
        stream = op.stream if self._is_on_cuda(op) else None
        if op.after:
            self._over[stream] = self._with(self._over[stream], op.after)
        return Timestamp(stream, self._over[stream])

    def timestamp_of_caller(self, phase: Phase) -> Timestamp:
        """Return the timestamp of a call's caller when it continues."""
        return Timestamp(None, self._with(self._nothing(), self._tape.ends.get(phase, ())))

    def used(self, op: AtenOp | TapeLaunch) -> UsedTensors:
        """Return the tensors that an op may use; a launch of unknown effects uses all arguments."""
        if isinstance(op, TapeLaunch):
            if 0 in op.grid:
                return _NOTHING
            known = self._effects.get(op.kernel)
            names = (known.reads, known.writes) if known else (op.args, op.args)
            given = (
                tuple(id_ for name in each for id_ in tensors_of(op.args.get(name)))
                for each in names
            )
            return UsedTensors(*given)
        if makes_views(op) or kind_of(op) == "uninitialized":
            return _NOTHING
        made = [id_ for id_ in op.outputs if id_ is not None]
        reads: tuple[int, ...] = read_tensors(op)
        writes: tuple[int, ...] = (*written_tensors(op), *made)
        if self._is_on_cuda(op):
            reads, writes = self._beside_host(op, reads), self._beside_host(op, writes)
        return UsedTensors(tuple(reads), tuple(dict.fromkeys(writes)))

    def _beside_host(self, op: AtenOp, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the tensors of an op in a stream that it uses while the host runs on.

        Tensors on the CPU are used at once, except pinned ones in an asynchronous copy.
        """
        metas = self._tape.tensors
        is_copy = op.op in COPIES
        return tuple(
            id_
            for id_ in ids
            if metas[id_].device == "cuda" or (is_copy and metas[id_].storage in self._pinned)
        )

    def _is_on_cuda(self, op: AtenOp | TapeLaunch) -> bool:
        if isinstance(op, TapeLaunch):
            return True
        return any(self._tape.tensors[id_].device == "cuda" for id_ in tensors_at(op))

    def _nothing(self) -> list[int]:
        return [_NEVER] * self.streams

    def _with(self, over: Sequence[int], ops: Sequence[int]) -> list[int]:
        found = list(over)
        for index in ops:
            op = self._tape.ops[index]
            if not isinstance(op, Seeding):
                found[op.stream] = max(found[op.stream], index)
        return found


def is_in_order(tape: Tape) -> bool:
    """Return True if all ops run in one stream, and the host waits for every copy.

    The recorder then writes no `ends`, and no other stream.
    """
    return not tape.ends and all(not op.stream for op in _with_stream(tape))


def unordered(tape: Tape, effects: KernelsEffects | None = None) -> dict[int, Unordered]:
    """Return the first two ops that may use a storage without an order, by storage.

    This is only a suspicion: they may use different parts of it.
    """
    found: dict[int, Unordered] = {}
    if is_in_order(tape):
        return found
    order = StreamOrder(tape, effects)
    for phase, entries in groupby(enumerate(tape.ops), key=lambda entry: entry[1].phase):
        uses = _Uses(tape)
        for index, op in entries:
            if isinstance(op, Seeding):
                continue
            for storage, first in uses.take(index, order.timestamp(op), order.used(op)):
                found.setdefault(storage, Unordered(first, index))
        timestamp, left = (
            order.timestamp_of_caller(phase),
            UsedTensors(read_by_caller(tape, phase), ()),
        )
        for storage, first in uses.take(len(tape.ops), timestamp, left):
            found.setdefault(storage, Unordered(first, None))
    return found


class _Uses:
    """The last op of each stream that read, and wrote, each storage in a phase."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._read: dict[int, dict[int, int]] = {}
        self._written: dict[int, dict[int, int]] = {}

    def take(
        self, index: int, timestamp: Timestamp, used: UsedTensors
    ) -> Iterator[tuple[int, int]]:
        """Yield the storages of the next op that an earlier one may still use, with that op."""
        reads, writes = self._storages(used.reads), self._storages(used.writes)
        for storages, earlier in (
            (reads | writes, self._written),
            (writes, self._read),
        ):
            for storage in storages:
                for stream, at in earlier.get(storage, {}).items():
                    if not timestamp.waits_for(at, stream):
                        yield storage, at
        if timestamp.stream is not None:
            for storages, last in ((reads, self._read), (writes, self._written)):
                for storage in storages:
                    last.setdefault(storage, {})[timestamp.stream] = index

    def _storages(self, ids: Sequence[int]) -> set[int]:
        return {self._tape.tensors[id_].storage for id_ in ids}


def read_by_caller(tape: Tape, phase: Phase) -> tuple[int, ...]:
    """Return the tensors that the caller may read when a call returns."""
    outputs = {"run": tape.outputs, "run2": tape.outputs2}.get(phase)
    inputs = {"run": tape.inputs, "run2": tape.inputs2}.get(phase, ())
    if outputs is None:
        return ()
    return (*tensors_of(outputs), *(id_ for one in inputs for id_ in tensors_of(one)))


def _with_stream(tape: Tape) -> Iterator[AtenOp | TapeLaunch]:
    return (op for op in tape.ops if not isinstance(op, Seeding))


def pinned_storages(tape: Tape) -> Iterator[int]:
    """Yield the CPU storages that a copy may use while the host runs on, and kernels can access."""
    for op in tape.ops:
        if isinstance(op, AtenOp):
            is_pinned = op.kwargs.get("pin_memory") is True
            if is_pinned or (op.op in COPIES and op.kwargs.get("non_blocking") is True):
                yield from (tape.tensors[id_].storage for id_ in op.outputs if id_ is not None)
