"""Which memory is overwritten before a run: all that torch has and no tensor lies in. Pure.

And what the runs before made. Knows no torch: it reads what torch's allocator tells of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Segment = Mapping[str, Any]
"""One of `torch.cuda.memory_snapshot`: memory that torch has from the driver, in blocks."""


@dataclass(frozen=True, slots=True)
class MemoryRange:
    """Bytes of a device."""

    address: int
    size_bytes: int

    @property
    def end(self) -> int:
        """The address behind them."""
        return self.address + self.size_bytes


def to_overwrite(segments: Sequence[Segment], made: Sequence[MemoryRange]) -> list[MemoryRange]:
    """Return as few ranges as there can be, none of which lies in two segments.

    `made` lies in segments; what of it does not is no memory any more.
    """
    found: list[MemoryRange] = []
    for segment in segments:
        begin, end = segment["address"], segment["address"] + segment["total_size"]
        inside = [one for one in made if begin <= one.address and one.end <= end]
        found += _joined([*inside, *_without_tensors(segment)])
    return found


def _without_tensors(segment: Segment) -> Iterator[MemoryRange]:
    """Yield what is there for tensors to come, and what is left over behind each tensor."""
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
