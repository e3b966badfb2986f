"""The blocks of a kernel that fit on a multiprocessor, and the resource that limits them.

The limits are those of `compiler.target`. For CUDA the arithmetic is that of NVIDIA's
cuda_occupancy.h. For AMD the compiler reports how many waves the registers of a SIMD allow.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.compilation import Occupancy, Parameter
from compiler.diagnostic import Diagnostic
from compiler.target import KIB, CudaMultiprocessor, HipMultiprocessor, Target

REGISTERS = 64 * KIB  # of 32 bits, of every capability here
REGISTERS_PER_THREAD = 256
_MAXIMUM_THREADS = 1024
_SMALLEST_BLOCK = 16
_MAX_NAMES = 4


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


# Checks that a compiled kernel can be launched at all, and names the exceeded resource.
#
# A kernel that compiled but cannot be launched is not a failure, since its artifacts are useful.
# It gets warnings.


@dataclass(frozen=True)
class CompileSettings:
    """The compile settings of the kernel, for advice on changes."""

    options: dict[str, Any]
    parameters: Sequence[Parameter]


def fits(target: Target, needs: Needs) -> bool | None:
    """Return whether a block can be launched, `None` where the limits are not known."""
    if multiprocessor_of(target) is None:
        return None
    return not list(_excesses(target, needs))


def warnings(target: Target, needs: Needs, asked: CompileSettings) -> list[Diagnostic]:
    """Return a warning for everything a block asks too much of: the size, the limit, the advice."""
    last: Any = target.stages[-1]
    return [
        Diagnostic(
            severity="warning",
            stage=last,
            message=f"The kernel cannot be launched on {target}: {excess}.",
            hint=_advice(what, asked),
        )
        for what, excess in _excesses(target, needs)
    ]


def _excesses(target: Target, needs: Needs) -> Iterator[tuple[str, str]]:
    has = multiprocessor_of(target)
    if has is None:
        return
    most = shared_limit_bytes(target) or 0
    if needs.shared_bytes > most:
        yield "shared", f"shared memory {_kib(needs.shared_bytes)} > {_kib(most)} of a block"
    if needs.threads > _MAXIMUM_THREADS:
        yield "threads", f"{needs.threads} threads > {_MAXIMUM_THREADS} of a block"
    elif isinstance(has, CudaMultiprocessor) and _lacks_registers(target, needs):
        words = f"{needs.registers} registers in each of {needs.threads} threads"
        yield "registers", f"{words} are more than a multiprocessor has"
    if isinstance(has, CudaMultiprocessor) and has.tensor_columns < needs.tensor_columns:
        columns = f"{needs.tensor_columns} columns > {has.tensor_columns}"
        yield "tensor", f"tensor memory {columns} of a multiprocessor"


def _lacks_registers(target: Target, needs: Needs) -> bool:
    alone = Needs(needs.registers, 0, needs.threads)
    occupied = occupancy(target, alone)
    return needs.registers > REGISTERS_PER_THREAD or bool(occupied and occupied.blocks_per_sm == 0)


def _advice(what: str, asked: CompileSettings) -> str:
    blocks = _listed(_block_sizes(asked.parameters))
    match what:
        case "threads":
            return "Reduce num_warps."
        case "registers":
            return "Reduce num_warps, or set maxnreg to have the compiler spill."
        case "tensor":
            sizes = _block_sizes(asked.parameters)
            wide = _listed({name: sizes[name] for name in sizes if not _is_of_k(name)})
            return f"Reduce {wide or 'the blocks that tl.dot accumulates into'}."
    stages = asked.options.get("num_stages")
    named = f"num_stages (now {stages})" if stages and stages > 1 else ""
    return f"Reduce {' or '.join(filter(None, (named, blocks or 'the size of the blocks')))}."


def _block_sizes(parameters: Sequence[Parameter]) -> dict[str, int]:
    """Return the constants that are block sizes by their look, those of K first."""
    sizes = {p.name: p.value for p in parameters if p.role == "constexpr" and _is_block_size(p)}
    return dict(sorted(sizes.items(), key=lambda item: (not _is_of_k(item[0]), item[0])))


def _is_of_k(name: str) -> bool:
    return name.upper().endswith("K")


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} (now {sizes[name]})" for name in list(sizes)[:_MAX_NAMES])


def _is_block_size(parameter: Parameter) -> bool:
    value, name = parameter.value, parameter.name.upper()
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and value >= _SMALLEST_BLOCK and ("BLOCK" in name or "TILE" in name)


def _kib(size_bytes: int) -> str:
    """Return a size in KB, rounded up, so that one more than a limit never reads as the limit."""
    return f"{math.ceil(size_bytes / 102.4 - 1e-9) / 10:g} KB"
