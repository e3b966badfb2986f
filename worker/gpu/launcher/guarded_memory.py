"""Memory of the GPU between unmapped addresses: an access past its end faults, at full speed.

CUDA maps memory in large pages (2 MiB) into a much wider reserved address range, at a random
address that a kernel cannot derive from another one. Blocks end at the last page, with checked red
zones. Mappings stay between the runs of one caller and are zeroed. Imported in launchers only.
"""

import ctypes
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from cuda.bindings import driver as cu

from worker.gpu.launcher.device import CudaError, GpuDevice, allocation_of, check
from worker.gpu.launcher.output_memory import OutputMemory

MARGIN_BYTES = 64 << 20
"""Unmapped addresses on both sides; they cost nothing, and a far miss hits no other buffer."""
_LOWEST_HINT, _MAX_HINT = 1 << 44, 1 << 46
"""The range of drawn addresses: above the driver's own, within what every GPU can address."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A piece of memory of `size_bytes` at `start`; its neighbours are not mapped."""

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
        start = _reserve(reserved_bytes, page)
    except CudaError:
        cu.cuMemRelease(handle)
        raise
    mapping = Mapping(start + margin_bytes, size_bytes, start, reserved_bytes, handle)
    try:
        check(cu.cuMemMap(mapping.start, size_bytes, 0, handle, 0), "mapping memory")
        _permit(device, mapping, "READWRITE")
    except CudaError:
        unmap(mapping)
        raise
    return mapping


def protect(device: GpuDevice, mapping: Mapping) -> None:
    """Make memory read-only: a kernel that stores to it faults. Raises CudaError."""
    _permit(device, mapping, "READ")


def unmap(mapping: Mapping) -> None:
    """Give memory and addresses back to the driver."""
    cu.cuMemUnmap(mapping.start, mapping.size_bytes)
    cu.cuMemAddressFree(mapping.reserved_start, mapping.reserved_bytes)
    cu.cuMemRelease(mapping.handle)


def _reserve(size_bytes: int, page: int) -> int:
    """Return the start of free addresses, drawn by chance; the driver's where those are taken.

    The distance between two pieces of memory would else be the same in every launch, and a kernel
    could reach one from the other.
    """
    drawn = _LOWEST_HINT + int.from_bytes(os.urandom(8), "little") % (_MAX_HINT - _LOWEST_HINT)
    status, start = cu.cuMemAddressReserve(size_bytes, page, drawn // page * page, 0)
    if status != cu.CUresult.CUDA_SUCCESS:
        start = check(cu.cuMemAddressReserve(size_bytes, page, 0, 0), "reserving addresses")
    return int(start)


def _permit(device: GpuDevice, mapping: Mapping, access: str) -> None:
    described = cu.CUmemAccessDesc()
    described.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    described.location.id = device.ordinal
    described.flags = getattr(cu.CUmemAccess_flags, f"CU_MEM_ACCESS_FLAGS_PROT_{access}")
    permitted = cu.cuMemSetAccess(mapping.start, mapping.size_bytes, [described], 1)
    check(permitted, "permitting access to memory")


CANARY = 0xA5
_RED_ZONE_BYTES = 4096
_POOL_BYTES = 1 << 30
_STAGING_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class GuardedBlock:
    """`size_bytes` at `address`; behind them, slack and then nothing; before them, a red zone."""

    address: int
    size_bytes: int
    mapping: Mapping
    is_argument: bool = False
    """True if a user's kernel gets the address."""

    @property
    def zones(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The red zones before and behind the block: address and size each."""
        before = min(self.address - self.mapping.start, _RED_ZONE_BYTES)
        end = self.address + self.size_bytes
        behind = self.mapping.start + self.mapping.size_bytes - end
        return (self.address - before, before), (end, behind)


class GuardedMemory:
    """Blocks of the current run, and the mappings that wait for the next."""

    def __init__(self, device: GpuDevice) -> None:
        self._device = device
        self._stream = device.stream
        self._blocks: list[GuardedBlock] = []
        self._pool: defaultdict[tuple[int, bool], list[Mapping]] = defaultdict(list)
        """The mappings by size, and by whether a kernel ever got their address."""
        self._staging = _staging()
        self.outputs = OutputMemory()
        """Memory of the host that outputs are read into."""
        self.relieve: Callable[[], None] = lambda: None
        """Frees memory that is kept elsewhere, if a run finds none."""

    def take(self, size_bytes: int, align_bytes: int, *, is_argument: bool = False) -> GuardedBlock:
        """Return a block aligned to the end of its mapping, rounded down to `align_bytes`.

        Its content is undefined, its red zones are set. Memory of other uses is never where an
        argument was: a kernel may know that address from an earlier launch. Raises CudaError.
        """
        page = self._device.granularity_bytes
        spare_bytes = 0 if page % align_bytes == 0 else align_bytes
        mapped_bytes = max(1, -(-(size_bytes + spare_bytes) // page)) * page
        waiting = self._pool[mapped_bytes, is_argument]
        mapping = waiting.pop() if waiting else self.map(mapped_bytes)
        end = mapping.start + mapping.size_bytes
        address = (end - size_bytes) // align_bytes * align_bytes
        block = GuardedBlock(address, size_bytes, mapping, is_argument)
        self._blocks.append(block)
        for start, size in block.zones:
            self.fill(start, size, CANARY)
        return block

    def map(self, size_bytes: int) -> Mapping:
        """Return new memory, if need be by releasing kept memory. Raises CudaError."""
        try:
            return map_memory(self._device, size_bytes)
        except CudaError as error:
            if error.name != "CUDA_ERROR_OUT_OF_MEMORY":
                raise
        self._shrink(0)
        self.relieve()
        return map_memory(self._device, size_bytes)

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
        """Return bytes of the GPU after all work queued so far, valid until the next `read`.

        Raises CudaError.
        """
        is_staged = self.is_staged(size_bytes)
        content = self._staging[:size_bytes] if is_staged else np.empty(size_bytes, np.uint8)
        self.read_to(content.ctypes.data, address, size_bytes)
        return content

    @staticmethod
    def is_staged(size_bytes: int) -> bool:
        """Return True if a `read` of this size needs no new memory."""
        return size_bytes <= _STAGING_BYTES

    def read_to(self, target: int, address: int, size_bytes: int) -> None:
        """Copy bytes of the GPU to the host's address `target`; they are there when this returns.

        Raises CudaError.
        """
        if size_bytes:
            check(cu.cuMemcpyDtoHAsync(target, address, size_bytes, self._stream), "reading memory")
        self.wait()

    def wait(self) -> None:
        """Wait for all work queued so far. Raises CudaError."""
        check(cu.cuStreamSynchronize(self._stream), "waiting for the GPU")

    def damage(self, block: GuardedBlock) -> int | None:
        """Return where a red zone was written to, in bytes from the block's start; None: nowhere.

        Of several places, the one nearest to the block.
        """
        (before, before_bytes), (behind, behind_bytes) = block.zones
        hit = np.flatnonzero(self.read(behind, behind_bytes) != CANARY)
        if hit.size:
            return block.size_bytes + int(hit[0])
        hit = np.flatnonzero(self.read(before, before_bytes) != CANARY)
        return int(hit[-1]) - before_bytes if hit.size else None

    def scrub(self) -> None:
        """End the run: queue zeros for all its memory; keep the mappings or give them back.

        All of a mapping is zeroed, also where nothing is checked: no run is to find there what
        another one left. The next run's work comes behind it on the stream.
        """
        blocks, self._blocks = self._blocks, []
        for block in blocks:
            mapping = block.mapping
            self.fill(mapping.start, mapping.size_bytes, 0)
            self._pool[mapping.size_bytes, block.is_argument].append(mapping)
        self._shrink(_POOL_BYTES)

    def _shrink(self, most_bytes: int) -> None:
        kept = sum(size * len(waiting) for (size, _), waiting in self._pool.items())
        if kept > most_bytes:
            self.wait()  # for what is still being zeroed
        for size, is_argument in sorted(self._pool, reverse=True):
            waiting = self._pool[size, is_argument]
            while kept > most_bytes and waiting:
                unmap(waiting.pop())
                kept -= size


def _staging() -> np.ndarray:
    """Return memory of the host that the GPU copies to at full speed. Raises CudaError."""
    allocated = cu.cuMemHostAlloc(_STAGING_BYTES, 0)
    address = int(check(allocated, "allocating host memory"))
    return np.ctypeslib.as_array((ctypes.c_uint8 * _STAGING_BYTES).from_address(address))
