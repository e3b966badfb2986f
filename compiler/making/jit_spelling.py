"""Types as Triton's JIT writes them when it names a specialization, where that is not our spelling.

The compiler reads both; only the hash of a source sees the difference.
"""

from __future__ import annotations

import re
from typing import Any

import triton.language as tl
from triton._utils import canonicalize_dtype

_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d,]+)\](,.+)?>")


def as_jit_says(kind: Any, annotation_type: str = "") -> Any:
    """Return the JIT's text of a canonical type, for a tuple of them a tuple.

    `annotation_type` is what the parameter's annotation fixes: a scalar is called as that says.
    """
    if isinstance(kind, tuple):
        return tuple(as_jit_says(item) for item in kind)
    if kind == "i1":
        return annotation_type or "u1"
    if kind.startswith("*"):
        return kind.removesuffix("i1") + _boolean() if kind.endswith(("*i1", "*ki1")) else kind
    match = _DESCRIPTOR.fullmatch(kind)
    return _descriptor(kind, match) if match is not None else kind


def _descriptor(kind: str, match: re.Match[str]) -> str:
    element = _boolean() if match[1] == "i1" else match[1]
    block = [int(extent) for extent in match[2].split(",")]
    layout = f",{tl.str_to_ty(kind, None).layout!r}" if match[3] else ""
    return f"tensordesc<{element}{block}{layout}>"


def _boolean() -> str:
    """Return the element type of a tensor of booleans: versions of Triton differ."""
    return str(canonicalize_dtype("int1"))
