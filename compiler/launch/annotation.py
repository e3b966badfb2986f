"""Annotations of parameters: the type that one fixes, read as Triton's JIT reads it.

After `_normalize_ty` and `KernelParam.annotation_type` of triton/runtime/jit.py, but from text:
an annotation is not evaluated, so a dotted name stands for its last part.
"""

import re

_TYPES = {
    "bool": "u1",
    "int1": "u1",
    "uint1": "u1",
    "i1": "u1",
    "u1": "u1",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "float8e4b15": "fp8e4b15",
    "float8_e4m3fn": "fp8e4nv",
    "float8e4b8": "fp8e4b8",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8e5b16": "fp8e5b16",
    "float8_e5m2fnuz": "fp8e5b16",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "int": "i32",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}
_NORMAL = _TYPES | {name: name for name in _TYPES.values()}
_POINTER_TYPE = re.compile(r"(?:\w+\.)*pointer_type\(\s*([\w.]+)\s*(?:,.*)?\)", re.DOTALL)


def annotated_type(text: str | None) -> str | None:
    """Return the Triton type that an annotation fixes, None for one that fixes none.

    `tl.int64` → `i64`, `"*fp32"` → `*fp32`, `"const float*"` → `*kfp32`, `float` → `fp32`.
    """
    name = _normalized((text or "").strip())
    element = name.removeprefix("*k") if name.startswith("*k") else name.removeprefix("*")
    return name if element in _NORMAL.values() else None


def _normalized(text: str) -> str:
    if text.startswith("const "):
        inner = _normalized(text.removeprefix("const ").strip())
        return "*k" + inner[1:] if inner.startswith("*") else ""
    if text.endswith("*"):
        return "*" + _normalized(text[:-1].strip())
    if text.startswith("*k") and (text[2:] in _NORMAL):
        return "*k" + _NORMAL[text[2:]]
    if text.startswith("*"):
        return "*" + _normalized(text[1:].strip())
    if match := _POINTER_TYPE.fullmatch(text):
        return "*" + _normalized(match[1])
    head, dot, last = text.rpartition(".")
    if dot and head.split(".")[0] == "torch":
        return text  # such an object is no type to Triton
    return _NORMAL.get(last.replace("_t", ""), last)
