"""A target: what a kernel is compiled for, written as Triton writes it (`cuda:90`, `hip:gfx942`).

Which targets exist is not known here: a worker finds out by compiling for them.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from compiler.rejection import Fault, RequestRejected, shown

STAGES = {
    "cuda": ("source", "ttir", "ttgir", "llir", "ptx", "cubin"),
    "hip": ("source", "ttir", "ttgir", "llir", "amdgcn", "hsaco"),
}
MEDIA_TYPES = {
    "source": "text/x-mlir",
    "ttir": "text/x-mlir",
    "ttgir": "text/x-mlir",
    "llir": "text/x-llvm",
    "ptx": "text/x-ptx",
    "amdgcn": "text/x-asm",
    "cubin": "application/x-elf",
    "hsaco": "application/x-elf",
}
BINARY_STAGES = frozenset({"cubin", "hsaco"})

_WRITTEN = re.compile(r"(?:cuda:([0-9]{2,3})|hip:(gfx[0-9a-f]{3,5}))(?::(32|64))?")


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
        return STAGES[self.backend]


@lru_cache(maxsize=256)
def parse_target(written: str) -> Target:
    """Read `cuda:90`, `cuda:90:32` or `hip:gfx942`.

    Raises RequestRejected at `/target` for anything else.
    """
    match = _WRITTEN.fullmatch(written)
    if match is None:
        message = (
            f"{shown(written)} is not a target. Write cuda:<capability> such as cuda:90, "
            "or hip:<gfx> such as hip:gfx942."
        )
        raise RequestRejected(Fault("/target", message))
    capability, gfx, warp_size = match.groups()
    target = Target("cuda", int(capability), 32) if capability else _hip(gfx)
    if warp_size and int(warp_size) != target.warp_size:
        message = f"{target} has warps of {target.warp_size} threads, not {warp_size}"
        raise RequestRejected(Fault("/target", message))
    return target


def _hip(gfx: str) -> Target:
    # CDNA (gfx9) runs wavefronts of 64, RDNA (gfx10 and later) of 32.
    return Target("hip", gfx, 64 if gfx.startswith("gfx9") else 32)
