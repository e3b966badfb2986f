"""A target: what a kernel is compiled for, written as Triton writes it (`cuda:90`, `hip:gfx942`).

It lists the candidates for targets. A worker finds out for which of these its toolchain really
compiles, by compiling for each. `compiler.stages` has the stages of each backend.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from compiler.rejection import Fault, RequestRejected, shown
from compiler.stages import pipeline

_CUDA = (60, 61, 62, 70, 72, 75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121)
_HIP = (
    "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1102",
    "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1170", "gfx1171", "gfx1172",
    "gfx1200", "gfx1201", "gfx1250", "gfx1251",
)  # fmt: skip
CANDIDATES = (*(f"cuda:{capability}" for capability in _CUDA), *(f"hip:{gfx}" for gfx in _HIP))
"""Every target that a toolchain is asked to compile for when a worker starts."""
_STAGES = {backend: pipeline(backend) for backend in ("cuda", "hip")}

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
        return _STAGES[self.backend]


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
