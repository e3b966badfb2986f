"""Compares a device's result for a case with a GPU's."""

import re
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from launch.buffers.element_types import readable
from launch.request.tolerance import default_tolerance

BITS, TOLERANCE, DIFFERS, FAILED = "bits", "tolerance", "differs", "failed"

_APPROXIMATE = re.compile(
    r"math\.(exp2?|log2?|sin|cos|sqrt|rsqrt|erf)\b|tt\.extern_elementwise|arith\.divf|"
    r"tt\.precise_divf|__nv_"
)
_ORDER = re.compile(r"tt\.reduce|tt\.scan|tt\.dot|tt\.atomic_rmw fadd|tt\.atomic_rmw.*fadd")
_FLOAT_SUM = re.compile(r"arith\.(addf|mulf|subf)")


@dataclass
class Agreement:
    """One case on one device; `worst` is in units of the tolerance, of the worst argument."""

    id: str
    device: str
    state: str
    exact_expected: bool
    differing: int = 0
    of: int = 0
    worst: float = 0.0
    first: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def is_exact(ir: str) -> bool:
    """Return True if no operation of a kernel contracts, approximates, or reorders sums."""
    if _APPROXIMATE.search(ir):
        return False
    if not _FLOAT_SUM.search(ir):
        return "tt.dot" not in ir or "f32" not in ir
    contracts = "arith.mulf" in ir and re.search(r"arith\.(addf|subf)", ir)
    return not contracts and not _ORDER.search(ir)


def agreement(
    case: dict[str, Any], device: str, ir: str, before: dict[str, Any],
    theirs: dict[str, Any], ours: dict[str, Any],
) -> Agreement:  # fmt: skip
    """Compare all buffers: `theirs` are a GPU's, `ours` the device's."""
    found = Agreement(case["id"], device, BITS, is_exact(ir))
    for one in case["allocations"]:
        name, dtype = one["name"], one["dtype"]
        _compare(found, name, dtype, before[name], theirs[name], ours[name])
    return found


def _compare(found: Agreement, name: str, dtype: str, before: Any, theirs: Any, ours: Any) -> None:
    size = theirs.itemsize
    bits = [one.view(f"u{size}") for one in (before, theirs, ours)]
    found.of += int(((bits[0] != bits[1]) | (bits[0] != bits[2])).sum())
    at = np.flatnonzero(bits[1] != bits[2])
    if not at.size:
        return
    gpu, cpu = readable(theirs, dtype)[at], readable(ours, dtype)[at]
    if gpu.dtype.kind == "f":
        both = np.isnan(gpu) & np.isnan(cpu)
        at, gpu, cpu = at[~both], gpu[~both], cpu[~both]
        if not at.size:
            return
    tolerance = default_tolerance(dtype if not dtype.startswith(("i", "u")) else "i32")
    with np.errstate(all="ignore"):
        x, y = gpu.astype(np.float64), cpu.astype(np.float64)
        distance = np.abs(x - y)
        allowed = tolerance.atol + tolerance.rtol * np.abs(x)
        ratio = np.where((x == y) & np.isfinite(x), 0.0, distance / np.maximum(allowed, 1e-300))
        ratio = np.where(x == y, 0.0, ratio)  # 0 and -0, both infinite
    ratio = np.where(np.isnan(ratio), np.inf, ratio)
    if dtype[0] in "iu":
        ratio = np.full(at.shape, np.inf)
    bad = ratio > 1
    found.differing += int(bad.sum())
    worst = int(ratio.argmax())
    if ratio[worst] >= found.worst:
        found.worst = float(ratio[worst])
        found.first = {
            "argument": name, "dtype": dtype, "element": int(at[worst]),
            "gpu": repr(gpu[worst].item()), "here": repr(cpu[worst].item()),
            "not_equal": int(at.size),
        }  # fmt: skip
    if bad.any():
        found.state = DIFFERS
    elif found.state == BITS:
        found.state = TOLERANCE
