"""Theoretical occupancy: how many blocks a multiprocessor holds, and what it runs out of.

Limits are those of the CUDA C++ Programming Guide, "Technical Specifications per Compute
Capability", and of AMD's instruction set architecture guides. There is no occupancy for AMD here.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.compilation import Occupancy
from compiler.target import Target

KIB = 1024
WARP_THREADS = 32
REGISTER_UNIT = 256  # registers are given to a warp in units of this many
WARP_UNIT = 4  # a multiprocessor's registers are in four partitions
MAXIMUM_THREADS = 1024


@dataclass(frozen=True)
class Limits:
    """What one multiprocessor of a compute capability has; registers are of 32 bits."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    shared_unit_bytes: int = 128
    reserved_shared_bytes: int = KIB
    registers: int = 64 * KIB


_TURING = Limits(32, 16, 64 * KIB, 64 * KIB, 256, 0)
_LARGE_AMPERE = Limits(64, 32, 164 * KIB, 163 * KIB)
_SMALL_AMPERE = Limits(48, 16, 100 * KIB, 99 * KIB)
_HOPPER = Limits(64, 32, 228 * KIB, 227 * KIB)

LIMITS: dict[int, Limits] = {
    70: Limits(64, 32, 96 * KIB, 96 * KIB, 256, 0),
    72: Limits(64, 32, 96 * KIB, 96 * KIB, 256, 0),
    75: _TURING,
    80: _LARGE_AMPERE,
    86: _SMALL_AMPERE,
    87: Limits(48, 16, 164 * KIB, 163 * KIB),
    89: Limits(48, 24, 100 * KIB, 99 * KIB),
    90: _HOPPER,
    100: _HOPPER,
    101: _HOPPER,
    103: _HOPPER,
    107: _HOPPER,
    110: Limits(48, 24, 228 * KIB, 227 * KIB),
    120: Limits(48, 24, 100 * KIB, 99 * KIB),
    121: Limits(48, 24, 100 * KIB, 99 * KIB),
}

LDS_BYTES = {"gfx950": 160 * KIB, "gfx1250": 320 * KIB}
"""Of AMD targets with more than `USUAL_LDS_BYTES` for one workgroup."""
USUAL_LDS_BYTES = 64 * KIB


def limits_of(target: Target) -> Limits | None:
    """Return the limits of a CUDA target, `None` for one that is not in the table."""
    return LIMITS.get(int(target.arch)) if target.backend == "cuda" else None


def occupancy(target: Target, registers: int, shared_bytes: int, threads: int) -> Occupancy | None:
    """Return the occupancy of blocks of `threads`, with `registers` each and `shared_bytes`.

    `limited_by` is one of warps, blocks, registers, shared_memory. `None` for targets without
    limits here.
    """
    limits = limits_of(target)
    if limits is None:
        return None
    warps = -(-threads // WARP_THREADS)
    by_resource = {
        "warps": limits.warps // warps,
        "blocks": limits.blocks,
        "registers": _by_registers(limits, registers, warps),
        "shared_memory": _by_shared_memory(limits, shared_bytes),
    }
    limited_by, blocks = min(by_resource.items(), key=lambda item: item[1])
    active = blocks * warps
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=active,
        ratio=round(active / limits.warps, 4),
        limited_by=limited_by,
    )


def fits(target: Target, shared_bytes: int, threads: int) -> bool | None:
    """Return whether a block can be launched at all: opt-in shared memory, threads per block."""
    if target.backend == "hip":
        largest = LDS_BYTES.get(str(target.arch), USUAL_LDS_BYTES)
        return shared_bytes <= largest and threads <= MAXIMUM_THREADS
    limits = limits_of(target)
    if limits is None:
        return None
    return shared_bytes <= limits.shared_bytes_per_block and threads <= MAXIMUM_THREADS


def _by_registers(limits: Limits, registers: int, warps: int) -> int:
    if registers == 0:
        return limits.blocks
    per_warp = _rounded_up(registers * WARP_THREADS, REGISTER_UNIT)
    resident = limits.registers // WARP_UNIT // per_warp * WARP_UNIT
    return resident // warps


def _by_shared_memory(limits: Limits, shared_bytes: int) -> int:
    per_block = _rounded_up(shared_bytes + limits.reserved_shared_bytes, limits.shared_unit_bytes)
    return limits.shared_bytes // per_block if per_block else limits.blocks


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
