"""The findings in a kernel's stages, as JSON: each has a place, a kind, and a sentence."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from compiler.explain.stage_lines import places_of
from compiler.explain.ttgir import Place, TtgirModule, held_type
from compiler.explain.uncoalesced import uncoalesced
from compiler.lines.line_map import line_maps, table
from compiler.ttir_to_numpy.ir import Operation

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
FMA, MMA, WGMMA, _TCGEN05 = "FMA, no tensor cores", "mma.sync", "wgmma", "tcgen05.mma"
_FIRST_WITH_TF32, _FIRST_WITH_TMA = 80, 90
_FASTER = {"cuda:90": WGMMA, "cuda:100": _TCGEN05, "cuda:103": _TCGEN05}
"""The unit that `mma.sync` is slower than, of the targets that have one."""
_PRODUCTS = frozenset({
    "tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled",
})  # fmt: skip
"""`tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<...> * tensor<...> -> tensor<...>`"""
_TF32 = frozenset({0, 1})
"""The numbers of `tf32` and `tf32x3` in Triton's enumeration InputPrecision."""
_IEEE = 2
_TMA = "ttng.async_tma_"
"""`ttng.async_tma_copy_global_to_local %descriptor[%x, %y] %buffer, %barrier, %predicate : ...`"""
_NO_COPY = "ttng.async_tma_store_wait"
_DESCRIPTORS = frozenset({
    "tt.make_tensor_descriptor", "ttng.tensormap_create", "tt.tensormap_create",
})  # fmt: skip
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


def explanation(
    texts: Mapping[str, str], ttgir: TtgirModule | None, target: str, num_warps: int | None
) -> dict[str, Any]:
    """Return the findings in `ttgir`, and in the assembly of `texts`, by stage, if there are."""
    lines = {"lines": table(line_maps(texts))}
    narrow = [
        access
        for stage in ASSEMBLIES
        for access in narrow_accesses(texts.get(stage, ""), stage, places_of(lines, stage))
    ]
    tma = tma_use(ttgir, target)
    products = matrix_products(ttgir, target, num_warps) if ttgir is not None else []
    apart = uncoalesced(ttgir, target) if ttgir is not None else []
    converted = conversions(ttgir) if ttgir is not None else []
    return {
        "matrix_products": [_finding(product, _product_message(product)) for product in products],
        "tma": {**asdict(tma), "message": _tma_message(tma)},
        "not_vectorised": [_finding(access, f"not vectorised: {access}") for access in narrow],
        "uncoalesced": [_finding(access, f"uncoalesced: {access}") for access in apart],
        "layout_conversions": [
            _finding(conversion, _conversion_message(conversion)) for conversion in converted
        ],
    }


def _finding(finding: Any, message: str) -> dict[str, Any]:
    members = asdict(finding)
    file, line = members.pop("place") or (None, None)
    return {"file": file, "line": line, **members, "message": message}


def _product_message(product: _MatrixProduct) -> str:
    reason = product.reason
    if reason is None and product.unit == FMA:
        reason = "the stages do not show why"
    return f"dot {product.shape}: {product.unit}{f': {reason}' if reason else ''}"


def _tma_message(tma: _TmaUse) -> str | None:
    if tma.copies:
        return f"TMA: {tma.copies} copies in TTGIR"
    return f"TMA: none; {tma.reason}" if tma.reason else None


def _conversion_message(conversion: _Conversion) -> str:
    noun = (
        "layout conversion" if conversion.count == 1 else f"{conversion.count} layout conversions"
    )
    return f"{noun}: {conversion.largest}"


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
    reads = _narrow_in_amd if stage == "amdgcn" else _narrow_in_ptx
    counts: Counter[tuple[Place | None, str, int]] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        for kind, size in reads(line):
            counts[places.get(number), kind, size] += 1
    return [_NarrowAccess(*key, count) for key, count in counts.most_common()]


def _narrow_in_ptx(line: str) -> Iterator[tuple[str, int]]:
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


def _narrow_in_amd(line: str) -> Iterator[tuple[str, int]]:
    if match := _AMD.match(line):
        size = _AMD_NARROW.get(match[2].split("_")[0])
        if size is not None:
            yield match[1], size


def conversions(ttgir: TtgirModule) -> list[_Conversion]:
    """Return the layout conversions by line, those of most elements first."""
    by_place: dict[Place | None, _Conversion] = {}
    for operation in ttgir.operations:
        if operation.name != "ttg.convert_layout":  # (tensor<32xf32, #mma>) -> tensor<32xf32, #b>
            continue
        before = held_type(operation.operands[0].type)
        after = held_type(operation.results[0].type)
        if before is None or after is None:
            continue
        elements = prod(before.shape)
        place = ttgir.places.get(operation)
        known = by_place.get(place, _Conversion(place, 0, 0, ""))
        sizes = "".join(f"{extent}x" for extent in before.shape)
        names = [ttgir.name_of(held.layout) for held in (before, after)]
        shown = f"{sizes}{before.element} #{names[0]} -> #{names[1]}"
        largest = shown if elements > known.elements else known.largest
        by_place[place] = _Conversion(
            place, known.count + 1, max(elements, known.elements), largest
        )
    return sorted(by_place.values(), key=lambda conversion: -conversion.elements)


# The unit that multiplies matrices, by source line, and the reason if a faster one is not used.
#
# A reason is given only if the TTGIR shows it: each is a condition of the instruction itself.


def matrix_products(ttgir: TtgirModule, target: str, num_warps: int | None) -> list[_MatrixProduct]:
    """Return the dots of a kernel, without repetition of equal ones."""
    products: dict[_MatrixProduct, None] = {}
    for operation in ttgir.operations:
        if operation.name not in _PRODUCTS:
            continue
        a, b = (held_type(operand.type) for operand in operation.operands[:2])
        unit = _unit_of(operation, ttgir)
        if a is None or b is None or unit is None:
            continue
        shape = [*a.shape[:-1], b.shape[-1], a.shape[-1]]
        is_tf32 = operation.integer("inputPrecision", _IEEE) in _TF32
        types = a.element, b.element
        reason = _reason(unit, shape, types, target, num_warps, is_tf32=is_tf32)
        shown = f"{'x'.join(map(str, shape))} {a.element}"
        products[_MatrixProduct(ttgir.places.get(operation), unit, shown, reason)] = None
    return list(products)


def _unit_of(operation: Operation, ttgir: TtgirModule) -> str | None:
    """Return the unit of a product: of a `tt.dot`, the layout of its result shows it."""
    if operation.name == "ttng.warp_group_dot":
        return WGMMA
    if "tc_gen5" in operation.name:
        return _TCGEN05
    result = held_type(operation.results[0].type)
    return None if result is None else _UNITS.get(ttgir.kind_of(result.layout))


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


def tma_use(ttgir: TtgirModule | None, target: str) -> _TmaUse:
    """Return how often a kernel copies with TMA, and why it does not if that is known."""
    operations = ttgir.operations if ttgir is not None else ()
    copies = sum(_is_copy(operation) for operation in operations)
    if copies:
        return _TmaUse(copies, None)
    if not _capability(target):
        return _TmaUse(0, None)  # AMD has nothing of this name
    if _capability(target) < _FIRST_WITH_TMA:
        return _TmaUse(0, f"{target} has none")
    if ttgir is not None and not any(map(_has_descriptor, operations)):
        return _TmaUse(0, "the kernel has no tensor descriptor")
    return _TmaUse(0, None)


def _is_copy(operation: Operation) -> bool:
    return operation.name.startswith(_TMA) and not operation.name.startswith(_NO_COPY)


def _has_descriptor(operation: Operation) -> bool:
    """Return whether an operation makes, takes or has as an argument a tensor descriptor."""
    arguments = [
        value for region in operation.regions for block in region for value in block.arguments
    ]
    values = (*operation.operands, *operation.results, *arguments)
    return operation.name in _DESCRIPTORS or any(
        value.type.startswith("!tt.tensordesc") for value in values
    )


def _capability(target: str) -> int:
    """Return the compute capability of an NVIDIA target, 0 for others."""
    match = _CAPABILITY.match(target)
    return int(match[1]) if match else 0
