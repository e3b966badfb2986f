"""From a sanitizer's report to findings: which argument, which element, which line.

Runs in `tool_runner`: on NumPy, without CUDA. Findings are those that launches answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.diagnostic import KERNEL_FOLDER
from launch.buffers.allocation import Leaf
from launch.buffers.element_types import stored
from launch.checks import finding
from launch.checks.access import Access
from launch.checks.addresses import Slot
from launch.checks.finding import KernelLocation
from launch.messages import Finding
from worker.gpu.launcher.fault import GpuFault
from worker.gpu.tools.sanitizer_report import ReportedAccess

NEAR_BYTES = 64 << 20
"""The greatest distance in bytes at which an access counts as a miss of an argument."""
_BEFORE = 16
"""The factor by which accesses before an argument's start are rarer than past its end."""
MAX_FINDINGS = 16
_ACCESSES = {"read": Access.LOAD, "write": Access.STORE, "atomic": Access.ATOMIC}


@dataclass(frozen=True, slots=True)
class Map:
    """Whose addresses are whose in one run; `cluster` blocks make up one program."""

    slots: Sequence[Slot]
    cluster: int

    @classmethod
    def of(cls, places: Iterable[Mapping[str, Any]], cluster: int) -> "Map":
        """Return the map that `Contents.places` wrote."""
        return cls([_slot(place) for place in places], cluster)

    def nearest(self, address: int) -> Slot | None:
        """Return the argument that an address is in, or that it misses by the least."""
        near = [slot for slot in self.slots if _distance(slot, address) < NEAR_BYTES]
        return min(near, key=lambda slot: _distance(slot, address, _BEFORE), default=None)

    def program(self, block: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
        """Return the program that a block is part of."""
        return None if block is None else (block[0] // self.cluster, *block[1:])


def findings_of(accesses: Iterable[ReportedAccess], seen: Map) -> list[Finding]:
    """Return one finding for every line and argument, with how many threads share it."""
    groups: dict[tuple[Any, ...], list[ReportedAccess]] = {}
    for access in accesses:
        slot = seen.nearest(access.address) if access.address is not None else None
        name = slot.leaf.name if slot else None
        key = (
            access.kind,
            access.access,
            access.path,
            access.line,
            access.other_line,
            name,
        )
        groups.setdefault(key, []).append(access)
    return [_finding(group, seen) for group in list(groups.values())[:MAX_FINDINGS]]


def _finding(group: Sequence[ReportedAccess], seen: Map) -> Finding:
    first, lanes = group[0], len(group)
    if first.kind == "race":
        return _race(first)
    place = KernelLocation(_file(first.path), first.line, seen.program(first.block))
    slot = seen.nearest(first.address) if first.address is not None else None
    access = _ACCESSES[first.access]
    if slot is None or first.address is None:
        return _nobodys(first, lanes, place)
    match first.kind:
        case "misaligned_access":
            return finding.misaligned(access, slot, first.address, first.size_bytes, place)
        case "uninitialized":
            return finding.uninitialized("uninitialized", slot, first.address, place)
    address = max(first.address, slot.end) if first.address >= slot.first else first.address
    return finding.out_of_bounds(access, slot, address, lanes, place)


def _race(access: ReportedAccess) -> Finding:
    other = (
        f"the {access.other_access} in line {access.other_line}" if access.other_line else "another"
    )
    message = (
        f"the {access.access} of shared memory in line {access.line} and {other} are not ordered: "
        f"different threads of a program do them to the same bytes ({access.count} hazards) with "
        "no barrier between them, so either may come first. Add tl.debug_barrier() between them."
    )
    return Finding(
        kind="race",
        access="read" if access.access == "read" else "write",
        file=_file(access.path),
        line=access.line,
        message=message,
    )


def _nobodys(access: ReportedAccess, lanes: int, place: KernelLocation) -> Finding:
    does = {"read": "reads", "write": "writes", "atomic": "atomically updates"}[access.access]
    at = f"address {access.address:#x}" if access.address is not None else "an unknown address"
    also = f" {lanes} threads do so." if lanes > 1 else ""
    message = (
        f"program {place.program} {does} {access.size_bytes} bytes of {access.space} memory at "
        f"{at}, which is near no argument. Derive the pointer from an argument, and check that its "
        f"offset does not overflow.{also}"
    )
    kind = access.kind if access.kind != "out_of_bounds" else GpuFault.ILLEGAL_ACCESS.value
    return Finding(
        kind=kind,
        access="read" if access.access == "read" else "write",
        file=place.file,
        line=place.line,
        program=list(place.program) if place.program is not None else None,
        message=message,
    )


def _file(path: str | None) -> str | None:
    return path.removeprefix(KERNEL_FOLDER) if path is not None else None


def _slot(place: Mapping[str, Any]) -> Slot:
    leaf = Leaf(
        place["name"], tuple(place["shape"]), tuple(place["strides"]), place["offset"], 0,
        place["dtype"], output=False,
    )  # fmt: skip
    size_bytes = place["elements"] * stored(place["dtype"]).itemsize
    return Slot(leaf, place["start"], place["start"] + size_bytes, 0)


def _distance(slot: Slot, address: int, before: int = 1) -> int:
    return max(before * (slot.first - address), address - slot.end + 1, 0)
