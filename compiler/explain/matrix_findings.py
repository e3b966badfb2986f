"""The unit that multiplies matrices, by source line, and the reason if a faster one is not used.

A reason is given only if the TTGIR shows it: each is a condition of the instruction itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from compiler.explain.stage_lines import Place

FMA, MMA, WGMMA, TCGEN05 = "FMA, no tensor cores", "mma.sync", "wgmma", "tcgen05.mma"
FIRST_WITH_TF32, FIRST_WITH_TMA = 80, 90
FASTER = {"cuda:90": WGMMA, "cuda:100": TCGEN05, "cuda:103": TCGEN05}
"""The unit that `mma.sync` is slower than, of the targets that have one."""
_ALIAS = re.compile(r"(?m)^#(\w+) = #(?:ttg\.)?(\w+)<")
_DOT = re.compile(r"\b(tt\.dot(?:_scaled)?|ttng\.warp_group_dot|ttng\.tc_gen5_mma(?:_scaled)?) ")
_SHAPED = re.compile(r"(?:tensor|memdesc)<((?:\d+x)+)([\w!.]+), *#(?:ttg\.)?(\w+)")
_TMA = re.compile(r"\bttng\.async_tma_(?!store_wait)\w+")
_DESCRIPTOR = re.compile(
    r"\b(?:tt|ttng)\.(?:make_tensor_descriptor|tensormap_create)|!tt\.tensordesc"
)
_UNITS = {"nvidia_mma": MMA, "amd_mfma": "MFMA", "amd_wmma": "WMMA", "blocked": FMA}
_CAPABILITY = re.compile(r"cuda:(\d{1,4})")


@dataclass(frozen=True, slots=True)
class MatrixProduct:
    """A dot: its unit, its M x N x K per block, and why no faster unit is used, if known."""

    place: Place | None
    unit: str
    shape: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class TmaUse:
    """The number of TMA copies, and why there are none."""

    copies: int
    reason: str | None


def matrix_products(
    ttgir: str, places: Mapping[int, Place], target: str, num_warps: int | None
) -> list[MatrixProduct]:
    """Return the dots of a kernel, without repetition of equal ones."""
    layouts = dict(_ALIAS.findall(ttgir))
    found: dict[MatrixProduct, None] = {}
    for number, line in enumerate(ttgir.splitlines(), 1):
        match = _DOT.search(line)
        if match is None:
            continue
        tensors = _SHAPED.findall(line, match.end())
        if len(tensors) < 2:
            continue
        (a, a_type, _), (b, b_type, _), last = tensors[0], tensors[1], tensors[-1]
        rows, columns = ([int(n) for n in size.split("x")[:-1]] for size in (a, b))
        shape = [*rows[:-1], columns[-1], rows[-1]]
        unit = {"ttng.warp_group_dot": WGMMA}.get(match[1]) or (
            TCGEN05 if "tc_gen5" in match[1] else _UNITS.get(layouts.get(last[2], last[2]))
        )
        if unit is None:
            continue
        is_tf32 = "inputPrecision = tf32" in line
        reason = _reason(unit, shape, (a_type, b_type), target, num_warps, is_tf32=is_tf32)
        shown = f"{'x'.join(map(str, shape))} {a_type}"
        found[MatrixProduct(places.get(number), unit, shown, reason)] = None
    return list(found)


def _reason(
    unit: str,
    shape: list[int],
    types: tuple[str, str],
    target: str,
    num_warps: int | None,
    *,
    is_tf32: bool,
) -> str | None:
    has_tf32 = _capability(target) >= FIRST_WITH_TF32
    if unit == FMA and types == ("f32", "f32") and has_tf32 and not is_tf32:
        return "fp32 operands with input_precision 'ieee'; tensor cores take 'tf32'"
    if unit == MMA and target in FASTER:
        return _unmet(FASTER[target], shape, types[0], num_warps)
    return None


def _unmet(faster: str, shape: list[int], kind: str, num_warps: int | None) -> str | None:
    """Return the condition of a faster unit that a dot does not meet, None if it meets these."""
    if len(shape) != 3:
        return f"{faster} has no batches"
    rows, columns, _ = shape
    if kind == "f64":
        return f"{faster} takes no fp64"
    if num_warps is not None and num_warps % 4:
        return f"{faster} needs num_warps in fours, not {num_warps}"
    if faster == TCGEN05 and num_warps not in (4, 8, None):
        return f"Triton uses {faster} with 4 or 8 warps, not {num_warps}"
    if rows % 64:
        return f"{faster} needs M in 64s, not {rows}"
    if columns % 8:
        return f"{faster} needs N in eights, not {columns}"
    return None


def tma_use(ttgir: str, target: str) -> TmaUse:
    """Return how often a kernel copies with TMA, and why it does not if that is known."""
    copies = len(_TMA.findall(ttgir))
    if copies:
        return TmaUse(copies, None)
    if not _capability(target):
        return TmaUse(0, None)  # AMD has nothing of this name
    if _capability(target) < FIRST_WITH_TMA:
        return TmaUse(0, f"{target} has none")
    if _DESCRIPTOR.search(ttgir) is None:
        return TmaUse(0, "the kernel has no tensor descriptor")
    return TmaUse(0, None)


def _capability(target: str) -> int:
    """Return the compute capability of an NVIDIA target, 0 for others."""
    match = _CAPABILITY.match(target)
    return int(match[1]) if match else 0
