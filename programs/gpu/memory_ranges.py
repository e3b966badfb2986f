"""Finds the memory to overwrite before a run: torch's memory without tensors. Pure.

Memory that earlier runs allocated is included. This reads the allocator's snapshot, without torch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    found: list[MemoryRange] = []
    for segment in segments:
        begin, end = segment["address"], segment["address"] + segment["total_size"]
        inside = [one for one in made if begin <= one.address and one.end <= end]
        found += _joined([*inside, *_without_tensors(segment)])
    return found


def _without_tensors(segment: Segment) -> Iterator[MemoryRange]:
    """Yield the free blocks, and the unused bytes after each tensor."""
    for block in segment["blocks"]:
        kept_bytes = {"inactive": 0, "active_allocated": block["requested_size"]}
        taken_bytes = kept_bytes.get(block["state"], block["size"])
        if taken_bytes < block["size"]:
            yield MemoryRange(block["address"] + taken_bytes, block["size"] - taken_bytes)


def _joined(ranges: Sequence[MemoryRange]) -> list[MemoryRange]:
    found: list[MemoryRange] = []
    for one in sorted(ranges, key=lambda each: each.address):
        if found and one.address <= found[-1].end:
            begin = found[-1].address
            found[-1] = MemoryRange(begin, max(found[-1].end, one.end) - begin)
        else:
            found.append(one)
    return found
