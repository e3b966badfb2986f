"""The findings in a kernel's stages, as JSON: each has a place, a kind, and a sentence."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from compiler.explain.stage_lines import Place, places_of
from compiler.explain.uncoalesced import uncoalesced
from compiler.lines.line_map import line_maps, table

ASSEMBLIES = ("ptx", "amdgcn")
_NARROW_BYTES = 4
"""An instruction of at most this size, for one element, counts as not vectorised."""
_PLURALS = {"load": "loads", "store": "stores", "copy": "copies"}
_PTX = re.compile(r"(?<![\w.$%])(ld|st)\.([\w.:]+)")
_PTX_COPY = re.compile(r"cp\.async\.c[ag]\.shared\.global[\w.:]*([^;\n]*)")
_COPIED = re.compile(r"0x([0-9a-f]{1,8})|\b(\d{1,8})\b")
_AMD = re.compile(r"^\s*(?:global|buffer|flat)_(load|store)_(\w+)")
_AMD_NARROW = {
    **dict.fromkeys(("dword", "b32"), 4),
    **dict.fromkeys(("ushort", "sshort", "short", "u16", "i16", "b16", "d16"), 2),
    **dict.fromkeys(("ubyte", "sbyte", "byte", "u8", "i8", "b8"), 1),
}
_CONVERSION = re.compile(r"\bttg\.convert_layout [^:\n]* : (\S.*) -> (\S.*)")
_TENSOR = re.compile(r"tensor<((?:\d+x)+)([\w!.<>]+), *#(?:ttg\.)?(\w+)")
FMA, MMA, WGMMA, _TCGEN05 = "FMA, no tensor cores", "mma.sync", "wgmma", "tcgen05.mma"
_FIRST_WITH_TF32, _FIRST_WITH_TMA = 80, 90
_FASTER = {"cuda:90": WGMMA, "cuda:100": _TCGEN05, "cuda:103": _TCGEN05}
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
class _MatrixProduct:
    """A dot: its unit, its M x N x K per block, and why no faster unit is used, if known."""

    place: Place | None
    unit: str
    shape: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class _TmaUse:
    """The number of TMA copies, and why there are none."""

    copies: int
    reason: str | None


@dataclass(frozen=True, slots=True)
class _Conversion:
    """Layout conversions of a line; `largest` is the one of most elements."""

    place: Place | None
    count: int
    elements: int
    largest: str


def explanation(texts: Mapping[str, str], target: str, num_warps: int | None) -> dict[str, Any]:
    """Return the findings in `texts`, by stage: TTGIR and an assembly, if there are."""
    lines = {"lines": table(line_maps(texts))}
    ttgir = texts.get("ttgir", "")
    in_ttgir = places_of(lines, "ttgir")
    narrow = [
        access
        for stage in ASSEMBLIES
        for access in narrow_accesses(texts.get(stage, ""), stage, places_of(lines, stage))
    ]
    tma = tma_use(ttgir, target)
    return {
        "matrix_products": [
            _finding(one, _of_product(one))
            for one in matrix_products(ttgir, in_ttgir, target, num_warps)
        ],
        "tma": {**asdict(tma), "message": _of_tma(tma)},
        "not_vectorised": [_finding(one, f"not vectorised: {one}") for one in narrow],
        "uncoalesced": [
            _finding(one, f"uncoalesced: {one}") for one in uncoalesced(ttgir, in_ttgir, target)
        ],
        "layout_conversions": [
            _finding(one, _of_conversion(one)) for one in conversions(ttgir, in_ttgir)
        ],
    }


def _finding(one: Any, message: str) -> dict[str, Any]:
    members = asdict(one)
    file, line = members.pop("place") or (None, None)
    return {"file": file, "line": line, **members, "message": message}


def _of_product(product: _MatrixProduct) -> str:
    reason = product.reason
    if reason is None and product.unit == FMA:
        reason = "the stages do not show why"
    return f"dot {product.shape}: {product.unit}{f': {reason}' if reason else ''}"


def _of_tma(tma: _TmaUse) -> str | None:
    if tma.copies:
        return f"TMA: {tma.copies} copies in TTGIR"
    return f"TMA: none; {tma.reason}" if tma.reason else None


def _of_conversion(one: _Conversion) -> str:
    noun = "layout conversion" if one.count == 1 else f"{one.count} layout conversions"
    return f"{noun}: {one.largest}"


@dataclass(frozen=True, slots=True)
class _NarrowAccess:
    """Instructions of a line, each for one element: `kind` is load, store or copy."""

    place: Place | None
    kind: str
    bytes_each: int
    count: int

    def __str__(self) -> str:
        """Return the count in words."""
        noun = self.kind if self.count == 1 else _PLURALS[self.kind]
        return f"{self.count} {noun} of {self.bytes_each} byte{'s' * (self.bytes_each > 1)}"


def narrow_accesses(text: str, stage: str, places: Mapping[int, Place]) -> list[_NarrowAccess]:
    """Return the accesses of PTX or AMD assembly that are not vectorised, most first."""
    reads = _of_amd if stage == "amdgcn" else _of_ptx
    counts: Counter[tuple[Place | None, str, int]] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        for kind, size in reads(line):
            counts[places.get(number), kind, size] += 1
    return [_NarrowAccess(*key, count) for key, count in counts.most_common()]


def _of_ptx(line: str) -> Iterator[tuple[str, int]]:
    for match in _PTX.finditer(line):
        words = re.split(r"[.:]+", match[2])
        is_vector = any(word in {"v2", "v4", "v8"} for word in words)
        bits = re.fullmatch(r"[bfsu](\d{1,3})", words[-1])
        if "global" in words and not is_vector and bits and int(bits[1]) <= 8 * _NARROW_BYTES:
            yield {"ld": "load", "st": "store"}[match[1]], int(bits[1]) // 8
    for match in _PTX_COPY.finditer(line):
        operands = match[1].split("],")
        if len(operands) == 3 and (size := _COPIED.search(operands[2])):
            copied = int(size[1], 16) if size[1] else int(size[2])
            if copied <= _NARROW_BYTES:
                yield "copy", copied


def _of_amd(line: str) -> Iterator[tuple[str, int]]:
    if match := _AMD.match(line):
        size = _AMD_NARROW.get(match[2].split("_")[0])
        if size is not None:
            yield match[1], size


def conversions(ttgir: str, places: Mapping[int, Place]) -> list[_Conversion]:
    """Return the layout conversions by line, those of most elements first."""
    found: dict[Place | None, _Conversion] = {}
    for number, line in enumerate(ttgir.splitlines(), 1):
        match = _CONVERSION.search(line)
        before = match and _TENSOR.match(match[1])
        after = match and _TENSOR.match(match[2])
        if not before or not after:
            continue
        elements = 1
        for size in before[1].split("x")[:-1]:
            elements *= int(size)
        place = places.get(number)
        known = found.get(place, _Conversion(place, 0, 0, ""))
        shown = f"{before[1]}{before[2]} #{before[3]} -> #{after[3]}"
        largest = shown if elements > known.elements else known.largest
        found[place] = _Conversion(place, known.count + 1, max(elements, known.elements), largest)
    return sorted(found.values(), key=lambda one: -one.elements)


# The unit that multiplies matrices, by source line, and the reason if a faster one is not used.
#
# A reason is given only if the TTGIR shows it: each is a condition of the instruction itself.


def matrix_products(
    ttgir: str, places: Mapping[int, Place], target: str, num_warps: int | None
) -> list[_MatrixProduct]:
    """Return the dots of a kernel, without repetition of equal ones."""
    layouts = dict(_ALIAS.findall(ttgir))
    found: dict[_MatrixProduct, None] = {}
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
            _TCGEN05 if "tc_gen5" in match[1] else _UNITS.get(layouts.get(last[2], last[2]))
        )
        if unit is None:
            continue
        is_tf32 = "inputPrecision = tf32" in line
        reason = _reason(unit, shape, (a_type, b_type), target, num_warps, is_tf32=is_tf32)
        shown = f"{'x'.join(map(str, shape))} {a_type}"
        found[_MatrixProduct(places.get(number), unit, shown, reason)] = None
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
    has_tf32 = _capability(target) >= _FIRST_WITH_TF32
    if unit == FMA and types == ("f32", "f32") and has_tf32 and not is_tf32:
        return "fp32 operands with input_precision 'ieee'; tensor cores take 'tf32'"
    if unit == MMA and target in _FASTER:
        return _unmet(_FASTER[target], shape, types[0], num_warps)
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
    if faster == _TCGEN05 and num_warps not in (4, 8, None):
        return f"Triton uses {faster} with 4 or 8 warps, not {num_warps}"
    if rows % 64:
        return f"{faster} needs M in 64s, not {rows}"
    if columns % 8:
        return f"{faster} needs N in eights, not {columns}"
    return None


def tma_use(ttgir: str, target: str) -> _TmaUse:
    """Return how often a kernel copies with TMA, and why it does not if that is known."""
    copies = len(_TMA.findall(ttgir))
    if copies:
        return _TmaUse(copies, None)
    if not _capability(target):
        return _TmaUse(0, None)  # AMD has nothing of this name
    if _capability(target) < _FIRST_WITH_TMA:
        return _TmaUse(0, f"{target} has none")
    if _DESCRIPTOR.search(ttgir) is None:
        return _TmaUse(0, "the kernel has no tensor descriptor")
    return _TmaUse(0, None)


def _capability(target: str) -> int:
    """Return the compute capability of an NVIDIA target, 0 for others."""
    match = _CAPABILITY.match(target)
    return int(match[1]) if match else 0
