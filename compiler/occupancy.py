"""Theoretical occupancy: the number of blocks on a multiprocessor, and the limiting resource.

The limits are those of `compiler.target`. For CUDA the arithmetic is that of NVIDIA's
cuda_occupancy.h. For AMD the compiler says how many waves the registers of a SIMD allow.
"""

from dataclasses import dataclass

from compiler.compilation import Occupancy
from compiler.target import KIB, CudaMultiprocessor, HipMultiprocessor, Target

REGISTERS = 64 * KIB  # of 32 bits, of every capability here
REGISTERS_PER_THREAD = 256


def multiprocessor_of(target: Target) -> CudaMultiprocessor | HipMultiprocessor | None:
    """Return the multiprocessor of `target`, `None` where no public document describes it."""
    return target.architecture.multiprocessor if target.architecture is not None else None


def shared_limit_bytes(target: Target) -> int | None:
    """Return the most shared memory a block of `target` may have, `None` where it is not known."""
    has = multiprocessor_of(target)
    if isinstance(has, CudaMultiprocessor):
        return has.shared_bytes_per_block
    return has.lds_bytes_per_workgroup if has is not None else None


WARP_THREADS = 32
REGISTER_UNIT = 256  # registers are given to a warp in units of this many
PARTITIONS = 4  # a multiprocessor's registers are in four
TENSOR_COLUMNS_UNIT = 32


@dataclass(frozen=True)
class Needs:
    """The resources of one block: `registers` of each thread, the rest of the block as a whole.

    `waves_per_simd` (hip) is what the registers allow, by the compiler's own account.
    """

    registers: int
    shared_bytes: int
    threads: int
    tensor_columns: int = 0
    waves_per_simd: int | None = None


def occupancy(target: Target, needs: Needs) -> Occupancy | None:
    """Return the occupancy of blocks with these needs, `None` where the limits are not known.

    `limited_by` is one of warps, blocks, registers, shared_memory, tensor_memory. On AMD a block is
    a workgroup, a warp a wave, and a multiprocessor the compute unit (or pair of them) it shares.
    """
    has = multiprocessor_of(target)
    if isinstance(has, CudaMultiprocessor):
        return _on_cuda(has, needs)
    if isinstance(has, HipMultiprocessor) and needs.waves_per_simd is not None:
        return _on_hip(has, needs, needs.waves_per_simd, target.warp_size)
    return None


def _on_cuda(has: CudaMultiprocessor, needs: Needs) -> Occupancy:
    warps = -(-needs.threads // WARP_THREADS)
    by_resource = {
        "warps": has.warps // warps,
        "blocks": has.blocks,
        "registers": _by_registers(has, needs.registers, warps),
        "shared_memory": _by_shared_memory(has, needs.shared_bytes),
    }
    if needs.tensor_columns and has.tensor_columns:
        columns = _rounded_up(needs.tensor_columns, TENSOR_COLUMNS_UNIT)
        by_resource["tensor_memory"] = has.tensor_columns // columns
    limited_by, blocks = min(by_resource.items(), key=lambda item: item[1])
    return _occupancy(blocks, warps, has.warps, limited_by)


def _by_registers(has: CudaMultiprocessor, registers: int, warps: int) -> int:
    if registers == 0:
        return has.blocks
    per_warp = _rounded_up(registers * WARP_THREADS, REGISTER_UNIT)
    resident = REGISTERS // PARTITIONS // per_warp * PARTITIONS
    return resident // warps


def _by_shared_memory(has: CudaMultiprocessor, shared_bytes: int) -> int:
    per_block = _rounded_up(shared_bytes + has.reserved_shared_bytes, has.shared_unit_bytes)
    return has.shared_bytes // per_block if per_block else has.blocks


def _on_hip(
    has: HipMultiprocessor, needs: Needs, waves_per_simd: int, wave_threads: int
) -> Occupancy:
    waves = -(-needs.threads // wave_threads)
    most_waves = has.waves_per_simd * has.simds
    by_resource = {
        "warps": most_waves // waves,
        "registers": waves_per_simd * has.simds // waves,
    }
    if waves > 1:
        by_resource["blocks"] = has.workgroups
    if needs.shared_bytes:
        lds_bytes = _rounded_up(needs.shared_bytes, has.lds_unit_bytes)
        fits = needs.shared_bytes <= has.lds_bytes_per_workgroup
        by_resource["shared_memory"] = has.lds_bytes // lds_bytes if fits else 0
    limited_by, blocks = min(by_resource.items(), key=lambda item: item[1])
    resident_waves = round(blocks * waves / has.simds, 2)
    return _occupancy(blocks, waves, most_waves, limited_by, resident_waves)


def _occupancy(
    blocks: int,
    warps: int,
    most_warps: int,
    limited_by: str,
    waves_per_simd: float | None = None,
) -> Occupancy:
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_sm=blocks * warps,
        ratio=round(blocks * warps / most_warps, 4),
        limited_by=limited_by,
        waves_per_simd=waves_per_simd,
    )


def _rounded_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
