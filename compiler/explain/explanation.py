"""The findings in a kernel's stages, as JSON: each says where, what, and a sentence for people."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from compiler.explain.matrix_findings import FMA, MatrixProduct, TmaUse, matrix_products, tma_use
from compiler.explain.memory_findings import Conversion, conversions, narrow_accesses
from compiler.explain.stage_lines import places_of
from compiler.explain.uncoalesced import uncoalesced
from compiler.lines.line_map import line_maps, table

ASSEMBLIES = ("ptx", "amdgcn")


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


def _of_product(product: MatrixProduct) -> str:
    reason = product.reason
    if reason is None and product.unit == FMA:
        reason = "the stages do not show why"
    return f"dot {product.shape}: {product.unit}{f': {reason}' if reason else ''}"


def _of_tma(tma: TmaUse) -> str | None:
    if tma.copies:
        return f"TMA: {tma.copies} copies in TTGIR"
    return f"TMA: none; {tma.reason}" if tma.reason else None


def _of_conversion(one: Conversion) -> str:
    noun = "layout conversion" if one.count == 1 else f"{one.count} layout conversions"
    return f"{noun}: {one.largest}"
