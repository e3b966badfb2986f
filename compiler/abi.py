"""The ABI of a compiled kernel: entry, launch dimensions, and every real parameter.

Triton flattens tuples and descriptors, leaves constants out and appends two pointers.
Standard library only: launchers and exports read an ABI with the code that creates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from compiler.target import Target
from compiler.type_name import SCALAR_BYTES

_DESCRIPTOR = re.compile(r"tensordesc\w*<\w+\[([\d,\s]*)\]")
_TENSOR_MAP_BYTES, _TENSOR_MAP_ALIGN_BYTES = 128, 64
_ROUNDING = "round_f32_to_tf32"  # of descriptors without tensor maps, from Triton 3.9 on

_Slot = tuple[str, str, int, int]  # kind, name, size, alignment


class TypedParameter(Protocol):
    """The members that this module reads of a kernel's parameter: see `compilation.Parameter`."""

    @property
    def name(self) -> str:
        """As the source has it."""

    @property
    def type(self) -> Any:
        """Its Triton type, a list for a tuple."""

    @property
    def role(self) -> str:
        """True if it is a parameter at run time."""


@dataclass(frozen=True)
class AbiParameter:
    """One parameter of the entry, in the order of the entry."""

    index: int
    kind: Literal["pointer", "scalar", "global_scratch", "profile_scratch"]
    name: str
    size_bytes: int
    align_bytes: int


@dataclass(frozen=True)
class TensorMapParameter:
    """A parameter that is a tensor map; `tensor_map` is what encoding it takes, as Triton has it.

    Its members are `swizzle`, `elem_type`, `elem_size`, `block_size` and `fp4_padded`.
    """

    index: int
    kind: Literal["tensormap"]
    name: str
    size_bytes: int
    align_bytes: int
    tensor_map: dict[str, Any] | None


@dataclass(frozen=True)
class ScratchMemory:
    """Memory that a launcher allocates for a kernel: bytes for each block of the grid."""

    size_bytes: int
    align_bytes: int


@dataclass(frozen=True)
class Abi:
    """The calling convention; `block` and `cluster` are threads and blocks by dimension."""

    entry: str
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    dynamic_shared_bytes: int
    cooperative: bool
    pdl: bool
    parameters: tuple[AbiParameter | TensorMapParameter, ...]
    global_scratch: ScratchMemory
    profile_scratch: ScratchMemory

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` reads, and what records and answers hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Abi:
        """Return the ABI that a record or an order holds.

        Raises KeyError, TypeError or ValueError for data that is not an ABI.
        """
        members = dict(data)
        block_x, block_y, block_z = members.pop("block")
        cluster_x, cluster_y, cluster_z = members.pop("cluster")
        return cls(
            block=(block_x, block_y, block_z),
            cluster=(cluster_x, cluster_y, cluster_z),
            parameters=tuple(_parameter(item) for item in members.pop("parameters")),
            global_scratch=ScratchMemory(**members.pop("global_scratch")),
            profile_scratch=ScratchMemory(**members.pop("profile_scratch")),
            **members,
        )


def _parameter(data: Mapping[str, Any]) -> AbiParameter | TensorMapParameter:
    return TensorMapParameter(**data) if data["kind"] == "tensormap" else AbiParameter(**data)


def abi_of(
    target: Target,
    parameters: Sequence[TypedParameter],
    metadata: Mapping[str, Any],
    *,
    extents_listed: bool = False,
) -> Abi:
    """Return the ABI of a kernel with these parameters, of which the back end reports `metadata`.

    `extents_listed`: the extents of descriptors are separate parameters, as posted IR has them.
    `metadata["parameter_sizes_bytes"]`, where there is one, is the list that the assembly declares:
    it decides between versions of Triton. Raises `ValueError` for a type that no parameter has.
    """
    runtime = [(p.name, p.type) for p in parameters if p.role == "runtime"]
    slots = list(_flattened(runtime, target, extents_listed=extents_listed))
    declared = metadata.get("parameter_sizes_bytes")
    if declared is not None and [size for _, _, size, _ in slots] != declared:
        slots = [slot for slot in slots if not slot[1].endswith(_ROUNDING)]
    return Abi(
        entry=metadata["name"],
        block=(target.warp_size * metadata["num_warps"], 1, 1),
        cluster=(metadata.get("num_ctas") or 1, 1, 1),
        dynamic_shared_bytes=metadata["shared"],
        cooperative=bool(metadata.get("launch_cooperative_grid")),
        pdl=bool(metadata.get("launch_pdl")),
        parameters=tuple(_with_maps(slots, metadata)),
        global_scratch=_scratch(metadata, "global_scratch"),
        profile_scratch=_scratch(metadata, "profile_scratch"),
    )


def _with_maps(
    slots: Sequence[_Slot], metadata: Mapping[str, Any]
) -> Iterator[AbiParameter | TensorMapParameter]:
    """Yield the parameters; a tensor map has the fields that encode it."""
    maps = iter(metadata.get("tensordesc_meta") or ())
    for index, (kind, name, size_bytes, align_bytes) in enumerate(slots):
        slot = {"kind": kind, "name": name, "size_bytes": size_bytes, "align_bytes": align_bytes}
        more = {"tensor_map": next(maps, None)} if kind == "tensormap" else {}
        yield _parameter({"index": index, **slot, **more})


def _scratch(metadata: Mapping[str, Any], name: str) -> ScratchMemory:
    return ScratchMemory(
        size_bytes=metadata.get(f"{name}_size") or 0,
        align_bytes=metadata.get(f"{name}_align") or 1,
    )


def _flattened(
    runtime: Iterable[tuple[str, Any]], target: Target, *, extents_listed: bool
) -> Iterator[_Slot]:
    for name, kind in runtime:
        slots = _slots(name, kind, target)
        yield from (slot for slot in slots if not (extents_listed and _is_extent(slot[1], name)))
    yield ("global_scratch", "global_scratch", 8, 8)
    yield ("profile_scratch", "profile_scratch", 8, 8)


def _slots(name: str, kind: Any, target: Target) -> Iterator[_Slot]:
    if isinstance(kind, (list, tuple)):
        for index, item in enumerate(kind):
            yield from _slots(f"{name}.{index}", item, target)
    elif not isinstance(kind, str) or kind == "constexpr" or kind.endswith(":1"):
        return
    elif kind.startswith("*"):
        yield ("pointer", name, 8, 8)
    elif match := _DESCRIPTOR.match(kind):
        rank = len(match[1].split(","))
        has_maps = target.has("tensor_maps")
        yield from _tensor_map(name, rank) if has_maps else _descriptor_without_map(name, rank)
    else:
        scalar = kind.partition(":")[0]
        if scalar not in SCALAR_BYTES:
            message = f"{scalar!r} is not a type of a run-time parameter"
            raise ValueError(message)
        yield ("scalar", name, SCALAR_BYTES[scalar], SCALAR_BYTES[scalar])


def _tensor_map(name: str, rank: int) -> Iterator[_Slot]:
    yield ("tensormap", name, _TENSOR_MAP_BYTES, _TENSOR_MAP_ALIGN_BYTES)
    yield from _extents(name, rank)


def _descriptor_without_map(name: str, rank: int) -> Iterator[_Slot]:
    """Without tensor maps a descriptor is a pointer with its shape, twice, and its flags."""
    yield ("pointer", f"{name}.base", 8, 8)
    for part in ("shape", "stride"):
        yield from (("scalar", f"{name}.wide_{part}.{i}", 8, 8) for i in range(rank))
    yield ("scalar", f"{name}.nan_padding", 1, 1)
    yield ("scalar", f"{name}.{_ROUNDING}", 1, 1)
    yield from _extents(name, rank)


def _extents(name: str, rank: int) -> Iterator[_Slot]:
    yield from (("scalar", f"{name}.shape.{i}", 4, 4) for i in range(rank))
    yield from (("scalar", f"{name}.stride.{i}", 8, 8) for i in range(rank))


def _is_extent(slot: str, name: str) -> bool:
    return slot.startswith((f"{name}.shape.", f"{name}.stride."))
