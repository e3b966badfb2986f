"""Memory of the GPU between unmapped addresses: an access past its end faults, at full speed.

CUDA maps memory in large pages (2 MiB) into an address range that is reserved much wider on both
sides; blocks end at the last page, with red zones that are checked. Mappings stay between the runs
of one caller, scrubbed. Imported in launchers only.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import CudaError, GpuDevice, allocation_of, check

MARGIN_BYTES = 64 << 20
"""Unmapped addresses on both sides; they cost nothing, and a far miss hits no other buffer."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A piece of memory of `size_bytes` at `start`; what lies beside it is not mapped."""

    start: int
    size_bytes: int
    reserved_start: int
    reserved_bytes: int
    handle: Any


def map_memory(device: GpuDevice, size_bytes: int) -> Mapping:
    """Return new memory of at least `size_bytes`. Raises CudaError."""
    page = device.granularity_bytes
    size_bytes = max(1, -(-size_bytes // page)) * page
    margin_bytes = -(-MARGIN_BYTES // page) * page
    reserved_bytes = size_bytes + 2 * margin_bytes
    handle = check(
        cu.cuMemCreate(size_bytes, allocation_of(device.ordinal), 0),
        f"allocating {size_bytes} bytes",
    )
    try:
        start = int(
            check(cu.cuMemAddressReserve(reserved_bytes, page, 0, 0), "reserving addresses")
        )
    except CudaError:
        cu.cuMemRelease(handle)
        raise
    mapping = Mapping(start + margin_bytes, size_bytes, start, reserved_bytes, handle)
    try:
        check(cu.cuMemMap(mapping.start, size_bytes, 0, handle, 0), "mapping memory")
        check(
            cu.cuMemSetAccess(mapping.start, size_bytes, [_access(device.ordinal)], 1),
            "opening memory",
        )
    except CudaError:
        unmap(mapping)
        raise
    return mapping


def unmap(mapping: Mapping) -> None:
    """Give memory and addresses back to the driver, as far as it has them."""
    cu.cuMemUnmap(mapping.start, mapping.size_bytes)
    cu.cuMemAddressFree(mapping.reserved_start, mapping.reserved_bytes)
    cu.cuMemRelease(mapping.handle)


def _access(ordinal: int) -> Any:
    access = cu.CUmemAccessDesc()
    access.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    access.location.id = ordinal
    access.flags = cu.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    return access


_CANARY = 0xA5
_RED_ZONE_BYTES = 4096
_POOL_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Block:
    """`size_bytes` at `address`; behind them, slack and then nothing; before them, a red zone."""

    address: int
    size_bytes: int
    mapping: Mapping

    @property
    def zones(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The red zones before and behind the block: address and size each."""
        before = min(self.address - self.mapping.start, _RED_ZONE_BYTES)
        end = self.address + self.size_bytes
        behind = self.mapping.start + self.mapping.size_bytes - end
        return (self.address - before, before), (end, behind)


class GuardedMemory:
    """Blocks of the run under way, and the mappings that wait for the next."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        self._stream = device.stream
        self._blocks: list[Block] = []
        self._pool: defaultdict[int, list[Mapping]] = defaultdict(list)

    def take(self, size_bytes: int, align_bytes: int) -> Block:
        """Return a block aligned to the end of its mapping, rounded down to `align_bytes`.

        Its content is undefined, its red zones are set. Raises CudaError.
        """
        page = self._device.granularity_bytes
        spare_bytes = 0 if page % align_bytes == 0 else align_bytes
        mapped_bytes = max(1, -(-(size_bytes + spare_bytes) // page)) * page
        waiting = self._pool[mapped_bytes]
        mapping = waiting.pop() if waiting else map_memory(self._device, mapped_bytes)
        end = mapping.start + mapping.size_bytes
        address = (end - size_bytes) // align_bytes * align_bytes
        block = Block(address, size_bytes, mapping)
        self._blocks.append(block)
        for start, size in block.zones:
            self.fill(start, size, _CANARY)
        return block

    def fill(self, address: int, size_bytes: int, byte: int) -> None:
        """Set memory, in the order of the stream. Raises CudaError."""
        if size_bytes:
            check(cu.cuMemsetD8Async(address, byte, size_bytes, self._stream), "filling memory")

    def write(self, address: int, content: np.ndarray) -> None:
        """Copy bytes to the GPU; they are there when this returns. Raises CudaError."""
        if content.nbytes:
            check(
                cu.cuMemcpyHtoDAsync(address, content.ctypes.data, content.nbytes, self._stream),
                "writing an argument",
            )
            self.wait()

    def copy(self, target: int, source: int, size_bytes: int) -> None:
        """Copy within the GPU, in the order of the stream. Raises CudaError."""
        if size_bytes:
            check(cu.cuMemcpyDtoDAsync(target, source, size_bytes, self._stream), "copying memory")

    def read(self, address: int, size_bytes: int) -> np.ndarray:
        """Return bytes of the GPU after all work queued so far. Raises CudaError."""
        content = np.empty(size_bytes, np.uint8)
        if size_bytes:
            check(
                cu.cuMemcpyDtoHAsync(content.ctypes.data, address, size_bytes, self._stream),
                "reading memory",
            )
        self.wait()
        return content

    def wait(self) -> None:
        """Wait for all work queued so far. Raises CudaError."""
        check(cu.cuStreamSynchronize(self._stream), "waiting for the GPU")

    def damage(self, block: Block) -> int | None:
        """Return where a red zone was written to, in bytes from the block's start; None: nowhere.

        Of several places, the one nearest to the block.
        """
        (before, before_bytes), (behind, behind_bytes) = block.zones
        hit = np.flatnonzero(self.read(behind, behind_bytes) != _CANARY)
        if hit.size:
            return block.size_bytes + int(hit[0])
        hit = np.flatnonzero(self.read(before, before_bytes) != _CANARY)
        return int(hit[-1]) - before_bytes if hit.size else None

    def scrub(self) -> None:
        """End the run: zero what it used and keep the mappings, or give them back."""
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            mapping = block.mapping
            self.fill(mapping.start, mapping.size_bytes, 0)
            self._pool[mapping.size_bytes].append(mapping)
        self.wait()
        kept = sum(size * len(waiting) for size, waiting in self._pool.items())
        for size in sorted(self._pool, reverse=True):
            while kept > _POOL_BYTES and self._pool[size]:
                unmap(self._pool[size].pop())
                kept -= size
