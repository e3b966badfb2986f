"""Finds memory of a GPU to overwrite before a run, and to guard in a checked replay. Pure.

The former is torch's memory without tensors, and what earlier runs allocated; this reads the
allocator's snapshot, without torch. The latter are storages to put between unmapped pages, which
are large (2 MiB), so there is a limit. Storages that torch may resize are left out, as memory that
torch did not allocate cannot grow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from programs.tape.overload_effects import argument_tensors, kind_of
from programs.tape.schema import AtenOp, Tape, TapeLaunch, tensors_of

ALIGN_BYTES = 256
"""The alignment of a guarded tensor: libraries choose their kernels by it, up to this one."""
_MAX_STORAGES = 512
_MAX_BYTES = 4 << 30
Segment = Mapping[str, Any]
"""A segment of `torch.cuda.memory_snapshot`: memory from the driver, in blocks."""


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """Bytes of a device."""

    address: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.address + self.size_bytes


def to_overwrite(segments: Sequence[Segment], made: Sequence[MemoryRange]) -> list[MemoryRange]:
    """Return the fewest possible ranges, each within one segment.

    `made` lies in segments; parts outside of them were freed.
    """
    ranges: list[MemoryRange] = []
    for segment in segments:
        begin, end = segment["address"], segment["address"] + segment["total_size"]
        inside = [part for part in made if begin <= part.address and part.end <= end]
        ranges += _joined([*inside, *_without_tensors(segment)])
    return ranges


def _without_tensors(segment: Segment) -> Iterator[MemoryRange]:
    """Yield the free blocks, and the unused bytes after each tensor."""
    for block in segment["blocks"]:
        kept_bytes = {"inactive": 0, "active_allocated": block["requested_size"]}
        taken_bytes = kept_bytes.get(block["state"], block["size"])
        if taken_bytes < block["size"]:
            yield MemoryRange(block["address"] + taken_bytes, block["size"] - taken_bytes)


def _joined(ranges: Sequence[MemoryRange]) -> list[MemoryRange]:
    joined: list[MemoryRange] = []
    for part in sorted(ranges, key=lambda each: each.address):
        if joined and part.address <= joined[-1].end:
            begin = joined[-1].address
            joined[-1] = MemoryRange(begin, max(joined[-1].end, part.end) - begin)
        else:
            joined.append(part)
    return joined


def guarded_storages(tape: Tape, page_bytes: int, spare_bytes: int) -> frozenset[int]:
    """Return the storages that launches take, in order of use, as far as there is room."""
    resized = set(_resized(tape))
    guarded: set[int] = set()
    left_bytes = min(spare_bytes, _MAX_BYTES)
    for storage in _launched(tape):
        size_bytes = -(-tape.storages[storage] // page_bytes) * page_bytes
        if storage in guarded or storage in resized or not 0 < size_bytes <= left_bytes:
            continue
        left_bytes -= size_bytes
        guarded.add(storage)
        if len(guarded) == _MAX_STORAGES:
            break
    return frozenset(guarded)


def _launched(tape: Tape) -> Iterator[int]:
    for op in tape.ops:
        if isinstance(op, TapeLaunch):
            ids = (id_ for value in op.args.values() for id_ in tensors_of(value))
            yield from (tape.tensors[id_].storage for id_ in ids)


def _resized(tape: Tape) -> Iterator[int]:
    for op in tape.ops:
        if not isinstance(op, AtenOp):
            continue
        ids = tensors_of(op.kwargs.get("out"))
        if kind_of(op) == "metadata":
            ids += argument_tensors(op)
        yield from (tape.tensors[id_].storage for id_ in ids)
