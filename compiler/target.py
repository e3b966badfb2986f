"""The targets: one row for each, and everything that depends on which targets there are.

A target is named as Triton names it (`cuda:90`, `hip:gfx942`), and read from what users of other
tools write as well (`sm_90`, `90`, `h100`, `gfx942`, `mi300x`). To add one, add its row;
`tests/unit/compiler/test_targets.py` fails until the row is complete. A worker offers those of
them that its toolchain compiles for. `compiler.stages` has the stages of each backend. The page
reads `page/src/targets.ts`, which `make page-tables` writes from these tables.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from compiler.rejection import FieldError, RequestRejected, closest, shown
from compiler.stages import pipeline

KIB: Final = 1024
Feature = Literal["clusters", "cluster_launch_control", "tensor_maps"]
"""Features that a kernel can use on some architectures only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """One of Triton's compilers."""

    name: str
    arch_pattern: str
    """A regular expression for the text after its name in a target."""
    vendor: str
    """The name of its package in Triton."""
    torch_version: str
    """Its attribute of `torch.version`, for user code that asks."""
    instruction_set: str
    """Compiler Explorer's name of its assembly."""
    symbol_pattern: str
    """A regular expression (ASCII) for the names of kernels in its assembly."""
    has_tensor_memory: bool
    has_pointer_ranges: bool
    """Triton's JIT gives it a hint for buffers of at most 2 GiB."""


@dataclass(frozen=True, slots=True)
class CudaMultiprocessor:
    """One multiprocessor of a compute capability. Tensor memory is counted in columns."""

    warps: int
    blocks: int
    shared_bytes: int
    shared_bytes_per_block: int
    shared_unit_bytes: int = 128
    reserved_shared_bytes: int = KIB
    tensor_columns: int = 0


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Architecture:
    """The facts about one target."""

    name: str
    """As it is written in requests, such as `cuda:90`."""
    multiprocessor: CudaMultiprocessor | HipMultiprocessor | None
    """`None` where no public document has its limits: then no answer has an occupancy."""
    first_ptx_version: int | None = None
    """The first PTX version that has it, from NVIDIA's PTX reference (with an `a` from 90 on)."""
    features: frozenset[Feature] = frozenset()
    flops_per_clock: Mapping[str, int] = field(default_factory=dict)
    """Peak operations of one multiprocessor by type of the factors, a product and its sum being
    two; from NVIDIA's white papers (Volta, Turing, Ampere GA100 and GA102, Ada, Hopper, Blackwell).
    It has the most of any GPU of the architecture. fp16 is bf16's number as well."""
    is_common: bool = False
    """Workers warm up with it, and the page's matrix begins with it."""

    @property
    def backend(self) -> str:
        """The name of its backend."""
        return self.name.partition(":")[0]


BACKENDS: Final = {
    backend.name: backend
    for backend in (
        Backend(name="cuda", arch_pattern="[0-9]{2,3}", vendor="nvidia", torch_version="13.0",
                instruction_set="ptx", symbol_pattern=r"[A-Za-z][\w$]*|_[\w$]+",
                has_tensor_memory=True, has_pointer_ranges=False),
        Backend(name="hip", arch_pattern="gfx[0-9a-f]{3,5}", vendor="amd", torch_version="7.0",
                instruction_set="amdgpu", symbol_pattern=r"[A-Za-z_][\w.]*",
                has_tensor_memory=False, has_pointer_ranges=True),
    )
}  # fmt: skip

# The numbers are those of the CUDA C++ Programming Guide ("Technical Specifications per Compute
# Capability") and of the architecture traits of NVIDIA's CCCL, of the CDNA and RDNA instruction set
# architecture guides, and of LLVM's User Guide for the AMDGPU backend. What is in none of them
# is not here.
_VOLTA = CudaMultiprocessor(64, 32, 96 * KIB, 96 * KIB, 256, 0)
_TURING = CudaMultiprocessor(32, 16, 64 * KIB, 64 * KIB, 256, 0)
_LARGE_AMPERE = CudaMultiprocessor(64, 32, 164 * KIB, 163 * KIB)
_SMALL_AMPERE = CudaMultiprocessor(48, 16, 100 * KIB, 99 * KIB)
_ORIN = CudaMultiprocessor(48, 16, 164 * KIB, 163 * KIB)
_ADA = CudaMultiprocessor(48, 24, 100 * KIB, 99 * KIB)
_HOPPER = CudaMultiprocessor(64, 32, 228 * KIB, 227 * KIB)
_LARGE_BLACKWELL = CudaMultiprocessor(64, 32, 228 * KIB, 227 * KIB, tensor_columns=512)
_THOR = CudaMultiprocessor(48, 24, 228 * KIB, 227 * KIB, tensor_columns=512)
_VEGA = HipMultiprocessor(10, 16, 64 * KIB, 64 * KIB)
_CDNA = HipMultiprocessor(8, 16, 64 * KIB, 64 * KIB)
_CDNA4 = HipMultiprocessor(8, 16, 160 * KIB, 160 * KIB, 1280)
_RDNA = HipMultiprocessor(16, 32, 128 * KIB, 64 * KIB)
_GFX1250 = HipMultiprocessor(16, 32, 320 * KIB, 320 * KIB, 2048)

_FROM_90: Final = frozenset[Feature]({"clusters", "tensor_maps"})
_FROM_100: Final = _FROM_90 | frozenset[Feature]({"cluster_launch_control"})
_GA102_FLOPS = {"fp16": 1024, "tf32": 512, "int8": 2048, "fp32": 256, "fp64": 4}

ARCHITECTURES: Final = (
    Architecture("cuda:60", None),
    Architecture("cuda:61", None),
    Architecture("cuda:62", None),
    Architecture("cuda:70", _VOLTA, 60,
                 flops_per_clock={"fp16": 1024, "fp32": 128, "fp64": 64}),
    Architecture("cuda:72", _VOLTA, 61),
    Architecture("cuda:75", _TURING, 63,
                 flops_per_clock={"fp16": 1024, "int8": 2048, "fp32": 128, "fp64": 4}),
    Architecture("cuda:80", _LARGE_AMPERE, 70, is_common=True, flops_per_clock={
        "fp16": 2048, "tf32": 1024, "int8": 4096, "fp32": 128, "fp64": 128}),
    Architecture("cuda:86", _SMALL_AMPERE, 71, flops_per_clock=_GA102_FLOPS),
    Architecture("cuda:87", _ORIN, 74, flops_per_clock=_GA102_FLOPS),
    Architecture("cuda:88", _SMALL_AMPERE, 90),
    Architecture("cuda:89", _ADA, 78, flops_per_clock=_GA102_FLOPS | {"fp8": 2048}),
    Architecture("cuda:90", _HOPPER, 80, _FROM_90, is_common=True, flops_per_clock={
        "fp16": 4096, "tf32": 2048, "fp8": 8192, "int8": 8192, "fp32": 256, "fp64": 256}),
    Architecture("cuda:100", _LARGE_BLACKWELL, 86, _FROM_100, is_common=True, flops_per_clock={
        "fp16": 8192, "tf32": 4096, "fp8": 16384, "int8": 16384, "fp32": 256, "fp64": 128}),
    Architecture("cuda:101", _THOR, 86, _FROM_100),  # became 110 with CUDA 13
    Architecture("cuda:103", _LARGE_BLACKWELL, 88, _FROM_100),
    Architecture("cuda:107", None, None, _FROM_100),
    Architecture("cuda:110", _THOR, 90, _FROM_100),
    Architecture("cuda:120", _ADA, 87, _FROM_100, flops_per_clock=_GA102_FLOPS | {"fp8": 2048}),
    Architecture("cuda:121", _ADA, 88, _FROM_100),
    Architecture("hip:gfx906", _VEGA),
    Architecture("hip:gfx908", _VEGA),
    Architecture("hip:gfx90a", _CDNA),
    Architecture("hip:gfx942", _CDNA, is_common=True),
    Architecture("hip:gfx950", _CDNA4),
    *(Architecture(f"hip:{gfx}", _RDNA) for gfx in (
        "gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152",
        "gfx1153", "gfx1170", "gfx1171", "gfx1172", "gfx1200", "gfx1201")),
    Architecture("hip:gfx1250", _GFX1250, features=frozenset[Feature]({"clusters"})),
    Architecture("hip:gfx1251", None),
)  # fmt: skip
BY_NAME: Final = {row.name: row for row in ARCHITECTURES}
CANDIDATES: Final = tuple(BY_NAME)
"""Every target that a toolchain must compile for when a worker starts."""
STANDARD_TARGET: Final = "cuda:90"
"""The target where nothing names one."""

GPUS: Final = {
    "cuda:70": "v100", "cuda:75": "t4", "cuda:80": "a100 a30", "cuda:86": "a10 a10g a40 rtx3090",
    "cuda:87": "orin", "cuda:89": "l4 l40 l40s rtx4090", "cuda:90": "h100 h200 h20 gh200",
    "cuda:100": "b200 gb200", "cuda:103": "b300 gb300", "cuda:110": "thor", "cuda:120": "rtx5090",
    "cuda:121": "gb10", "hip:gfx906": "mi50 mi60", "hip:gfx908": "mi100",
    "hip:gfx90a": "mi210 mi250 mi250x", "hip:gfx942": "mi300a mi300x mi325x",
    "hip:gfx950": "mi350x mi355x", "hip:gfx1030": "rx6900xt", "hip:gfx1100": "rx7900xtx",
    "hip:gfx1201": "rx9070xt",
}  # fmt: skip
TARGET_OF_GPU: Final = {gpu: name for name, gpus in GPUS.items() for gpu in gpus.split()}
"""Targets by the name of a GPU, in small letters without spaces and hyphens."""

_STAGES = {backend: pipeline(backend) for backend in BACKENDS}
_TARGETS = "|".join(f"{backend.name}:{backend.arch_pattern}" for backend in BACKENDS.values())
_WRITTEN = re.compile(f"({_TARGETS})(:(32|64))?")
_CAPABILITY = re.compile(r"(?:(?:sm|compute)_?)?([0-9]{2,3})[af]?", re.ASCII)
_GFX = re.compile(BACKENDS["hip"].arch_pattern)
_SEPARATOR = re.compile("[ _-]")
_OTHER_NUMBER = re.compile(r"cuda:\d*", re.ASCII)
"""A capability that does not exist resembles many, and does not show which was meant."""


@dataclass(frozen=True, slots=True)
class Target:
    """`arch` is a compute capability as an integer for cuda (90), a gfx name for hip."""

    backend: str
    arch: int | str
    warp_size: int

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of this target's pipeline, first to last."""
        return _STAGES[self.backend]

    @property
    def architecture(self) -> Architecture | None:
        """Its row; None for a target that only workers of another version offer."""
        return BY_NAME.get(str(self))

    def has(self, feature: Feature) -> bool:
        """Return whether its row has `feature`."""
        return self.architecture is not None and feature in self.architecture.features


@lru_cache(maxsize=256)
def parse_target(written: str) -> Target:
    """Read `cuda:90`, `cuda:90:32` or `hip:gfx942`, or another name for one, such as `h100`.

    Raises RequestRejected at `/target` for anything else.
    """
    name = written if _WRITTEN.fullmatch(written) else _other_name(written)
    if name is None:
        raise RequestRejected(FieldError("/target", _no_target(written)))
    backend, arch, *warp_size = name.split(":")
    target = Target("cuda", int(arch), 32) if backend == "cuda" else _hip(arch)
    if warp_size and int(warp_size[0]) != target.warp_size:
        message = f"{target} has warps of {target.warp_size} threads, not {warp_size[0]}"
        raise RequestRejected(FieldError("/target", message))
    return target


def canonical_target(written: str) -> str:
    """Return the name of a target, or the text as it is if it does not name one."""
    try:
        return str(parse_target(written))
    except RequestRejected:
        return written


def common_targets() -> tuple[Target, ...]:
    """Return the targets that are used most."""
    return tuple(parse_target(row.name) for row in ARCHITECTURES if row.is_common)


def usual_target(offered: Sequence[str]) -> str:
    """Return the target where nothing names one: cuda:90 if it is `offered`."""
    return STANDARD_TARGET if STANDARD_TARGET in offered else offered[0]


def with_feature(feature: Feature, backend: str) -> list[str]:
    """Return the names of the targets of `backend` that have `feature`."""
    return [row.name for row in ARCHITECTURES if row.backend == backend and feature in row.features]


def _other_name(written: str) -> str | None:
    """Return the target that `sm_90`, `90`, `gfx942`, `h100` or the like means."""
    plain = written.lower()
    if capability := _CAPABILITY.fullmatch(plain):
        return f"cuda:{capability[1]}"
    if _GFX.fullmatch(plain):
        return f"hip:{plain}"
    return TARGET_OF_GPU.get(_SEPARATOR.sub("", plain))


def _no_target(written: str) -> str:
    """Return the error for an unknown target, with the one that was probably meant."""
    meant = _other_name(written.strip().rpartition(":")[2])
    if meant is None and _OTHER_NUMBER.fullmatch(written) is None:
        alike = closest(written, [*BY_NAME, *TARGET_OF_GPU])
        meant = alike and TARGET_OF_GPU.get(alike, alike)
    return (
        f"{shown(written)} is not a target." + (f" Did you mean {meant}?" if meant else "") + " "
        "Write cuda:<capability> such as cuda:90, hip:<gfx> such as hip:gfx942, or a GPU's name "
        "such as h100 or mi300x."
    )


def _hip(gfx: str) -> Target:
    # CDNA (gfx9) runs wavefronts of 64, RDNA (gfx10 and later) of 32.
    return Target("hip", gfx, 64 if gfx.startswith("gfx9") else 32)
