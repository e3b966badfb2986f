"""What one multiprocessor of a target has to give to the blocks that are resident on it.

CUDA: NVIDIA's CUDA C++ Programming Guide ("Technical Specifications per Compute Capability"), its
cuda_occupancy.h and the architecture traits of its CCCL. AMD: the CDNA and RDNA instruction set
architecture guides, and LLVM's User Guide for the AMDGPU backend with the tables behind its
llvm-calc-occupancy. What stands in none of them is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.target import Target

KIB = 1024
REGISTERS = 64 * KIB  # of 32 bits, of every capability here
REGISTERS_PER_THREAD = 256


@dataclass(frozen=True)
class CudaMultiprocessor:
    """One multiprocessor of a compute capability. Tensor memory is counted in columns."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    shared_unit_bytes: int = 128
    reserved_shared_bytes: int = KIB
    tensor_columns: int = 0


@dataclass(frozen=True)
class HipMultiprocessor:
    """One compute unit, or a pair of them where a workgroup shares both (RDNA's WGP mode).

    `workgroups` counts those of more than one wave, which need a barrier each.
    """

    waves_per_simd: int
    workgroups: int
    lds_bytes: int
    lds_bytes_per_workgroup: int
    lds_unit_bytes: int = 512
    simds: int = 4


_VOLTA = CudaMultiprocessor(64, 32, 96 * KIB, 96 * KIB, 256, 0)
_LARGE_AMPERE = CudaMultiprocessor(64, 32, 164 * KIB, 163 * KIB)
_SMALL_AMPERE = CudaMultiprocessor(48, 16, 100 * KIB, 99 * KIB)
_ADA = CudaMultiprocessor(48, 24, 100 * KIB, 99 * KIB)
_HOPPER = CudaMultiprocessor(64, 32, 228 * KIB, 227 * KIB)
_LARGE_BLACKWELL = CudaMultiprocessor(64, 32, 228 * KIB, 227 * KIB, tensor_columns=512)
_THOR = CudaMultiprocessor(48, 24, 228 * KIB, 227 * KIB, tensor_columns=512)

_CUDA: dict[int, CudaMultiprocessor] = {
    70: _VOLTA,
    72: _VOLTA,
    75: CudaMultiprocessor(32, 16, 64 * KIB, 64 * KIB, 256, 0),
    80: _LARGE_AMPERE,
    86: _SMALL_AMPERE,
    87: CudaMultiprocessor(48, 16, 164 * KIB, 163 * KIB),
    88: _SMALL_AMPERE,
    89: _ADA,
    90: _HOPPER,
    100: _LARGE_BLACKWELL,
    101: _THOR,  # became 110 with CUDA 13
    103: _LARGE_BLACKWELL,
    110: _THOR,
    120: _ADA,
    121: _ADA,
}

_RDNA = HipMultiprocessor(16, 32, 128 * KIB, 64 * KIB)
_HIP: dict[str, HipMultiprocessor] = {
    "gfx906": HipMultiprocessor(10, 16, 64 * KIB, 64 * KIB),
    "gfx908": HipMultiprocessor(10, 16, 64 * KIB, 64 * KIB),
    "gfx90a": HipMultiprocessor(8, 16, 64 * KIB, 64 * KIB),
    "gfx942": HipMultiprocessor(8, 16, 64 * KIB, 64 * KIB),
    "gfx950": HipMultiprocessor(8, 16, 160 * KIB, 160 * KIB, 1280),
    "gfx1250": HipMultiprocessor(16, 32, 320 * KIB, 320 * KIB, 2048),
    "gfx103": _RDNA,
    "gfx11": _RDNA,
    "gfx120": _RDNA,
}
"""By the longest beginning of a name."""


def multiprocessor_of(target: Target) -> CudaMultiprocessor | HipMultiprocessor | None:
    """Return the multiprocessor of `target`, `None` where no public document describes it."""
    if target.backend == "cuda":
        return _CUDA.get(int(target.arch))
    name = str(target.arch)
    known = [beginning for beginning in _HIP if name.startswith(beginning)]
    return _HIP[max(known, key=len)] if known else None


def shared_limit_bytes(target: Target) -> int | None:
    """Return the most shared memory a block of `target` may have, `None` where it is not known."""
    has = multiprocessor_of(target)
    if isinstance(has, CudaMultiprocessor):
        return has.shared_bytes_per_block
    return has.lds_bytes_per_workgroup if has is not None else None
