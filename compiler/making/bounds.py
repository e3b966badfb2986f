"""Bounds on IR before the back end sees it: what passes here may still be slow, but not absurd."""

from __future__ import annotations

import math
import re
from typing import Any

from compiler.excerpt import diagnostic
from compiler.making.failure import Failure

BOUNDS = {
    "bytes": 16 << 20,
    "operations": 200_000,
    "tensor_elements": 1 << 20,  # Triton's own TRITON_MAX_TENSOR_NUMEL
}
"""Where the header of a job does not say otherwise in `ir_bounds`."""

_SHOWN = {"source": "frontend", "glir": "ttgir"}
_TENSOR = re.compile(r"(?:tensor|memdesc)<((?:\d+x)+)")


def check(text: str, stage: str, header: dict[str, Any]) -> None:
    """Raise `Failure` (`out_of_resources`) if IR is larger than the job's `ir_bounds` allow."""
    bounds = BOUNDS | (header.get("ir_bounds") or {})
    size = len(text)
    if size > bounds["bytes"]:
        raise _too_large(stage, f"{size:,} bytes of IR", f"{bounds['bytes']:,} bytes")
    # every operation has a line of its own, and so have the locations at the end
    operations = text.count("\n") - text.count("\n#loc")
    if operations > bounds["operations"]:
        limit = f"{bounds['operations']:,} operations"
        raise _too_large(stage, f"{operations:,} operations in its IR", limit)
    for shape in {match[1] for match in _TENSOR.finditer(text)}:
        elements = math.prod(int(extent) for extent in shape.split("x") if extent)
        if elements > bounds["tensor_elements"]:
            what = f"a tensor of {shape.rstrip('x')} = {elements:,} elements"
            raise _too_large(stage, what, f"{bounds['tensor_elements']:,} elements")


def _too_large(stage: str, what: str, limit: str) -> Failure:
    message = f"the kernel has {what}; the limit is {limit}. Use smaller blocks or unroll less."
    shown = _SHOWN.get(stage, stage)
    return Failure("out_of_resources", shown, message, [diagnostic("error", shown, message)])
