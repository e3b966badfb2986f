"""What AMD assembly says of its kernel, read from the metadata at its end.

Standard library only.
"""

from __future__ import annotations

import re

_BYTES_PER_REGISTER = 4
_NUMBER = re.compile(r"^[ \t]*(?:- )?\.(\w+):[ \t]+(\d{1,12})$", re.MULTILINE)
_OCCUPANCY = re.compile(r"^; Occupancy: (\d{1,9})$", re.MULTILINE)
_ARGUMENT_BYTES = re.compile(r"^ {6,}(?:- )?\.size:[ \t]+(\d{1,12})$", re.MULTILINE)
_NAMES = {
    "vgpr": "vgpr_count",
    "agpr": "agpr_count",
    "sgpr": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "stack_bytes": "private_segment_fixed_size",
    "static_shared_bytes": "group_segment_fixed_size",
}


def resources(amdgcn: str) -> dict[str, int]:
    """Return registers by kind, registers spilled, and bytes of scratch and static LDS.

    `registers` and the bytes of spills are those of a work-item, so of vector registers.
    `waves_per_simd`, where the compiler says it, is how many waves the registers leave room for.
    """
    found = {name: int(value) for name, value in _NUMBER.findall(_metadata(amdgcn))}
    said = {name: found.get(field, 0) for name, field in _NAMES.items()}
    if occupancy := _OCCUPANCY.search(amdgcn):
        said["waves_per_simd"] = int(occupancy[1])
    spilled_bytes = said["vgpr_spills"] * _BYTES_PER_REGISTER
    return said | {
        "registers": said["vgpr"],
        "spill_store_bytes": spilled_bytes,
        "spill_load_bytes": spilled_bytes,
    }


def parameter_sizes_bytes(amdgcn: str) -> list[int]:
    """Return the sizes of the kernel's parameters, in order."""
    arguments = _metadata(amdgcn).partition(".args:")[2].partition(".group_segment")[0]
    return [int(size) for size in _ARGUMENT_BYTES.findall(arguments)]


def _metadata(amdgcn: str) -> str:
    metadata, is_whole, _ = amdgcn.partition(".amdgpu_metadata\n")[2].partition(
        ".end_amdgpu_metadata"
    )
    return metadata if is_whole else ""
