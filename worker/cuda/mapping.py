"""Memory of the GPU between unmapped addresses: an access past its end faults, at full speed.

CUDA's virtual memory management maps memory in large pages (2 MiB) into an address range that is
reserved much wider on both sides. Imported in launchers only.
"""

from dataclasses import dataclass
from typing import Any

from cuda.bindings import driver as cu

from worker.cuda.device import Device, allocation_of
from worker.cuda.driver import CudaError, check

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


def map_memory(device: Device, size_bytes: int) -> Mapping:
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
