"""Bounds on IR before the back end sees it: what passes here may still be slow, but not absurd."""

from __future__ import annotations

import math
import re

from compiler.making.failure import Failure

MAXIMUM_BYTES = 16 * 1024 * 1024
MAXIMUM_OPERATIONS = 200_000
MAXIMUM_TENSOR_ELEMENTS = 1 << 20  # Triton's own TRITON_MAX_TENSOR_NUMEL

_TENSOR = re.compile(r"(?:tensor|memdesc)<((?:\d+x)+)")


def check(text: str, stage: str) -> None:
    """Raise `Failure` (`out_of_resources`) if IR is larger than any real kernel's."""
    size = len(text)
    if size > MAXIMUM_BYTES:
        raise _too_large(stage, f"{size:,} bytes of IR", f"{MAXIMUM_BYTES:,} bytes")
    operations = text.count("\n")
    if operations > MAXIMUM_OPERATIONS:
        raise _too_large(stage, f"{operations:,} lines of IR", f"{MAXIMUM_OPERATIONS:,} lines")
    for shape in {match[1] for match in _TENSOR.finditer(text)}:
        elements = math.prod(int(extent) for extent in shape.split("x") if extent)
        if elements > MAXIMUM_TENSOR_ELEMENTS:
            what = f"a tensor of {shape.rstrip('x')} = {elements:,} elements"
            raise _too_large(stage, what, f"{MAXIMUM_TENSOR_ELEMENTS:,} elements")


def _too_large(stage: str, what: str, limit: str) -> Failure:
    message = f"the kernel has {what}; the limit is {limit}. Use smaller blocks or unroll less."
    return Failure("out_of_resources", stage, message)
