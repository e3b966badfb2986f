"""Triton's type names, and the other spellings people use for them, brought to one form.

Types are text here; nothing is imported from Triton to know them.
"""

import re

from compiler.rejection import ALIKE_AMONG_FEW, closest, shown

MAX_TYPE_CHARS = 256
MAX_DESCRIPTOR_EXTENTS = 5
"""A tensor map has no more, and Triton makes no descriptor with more."""
SCALAR_BYTES = {
    **dict.fromkeys(("i1", "u1", "i8", "u8"), 1),
    **dict.fromkeys(("fp8e4nv", "fp8e4b8", "fp8e4b15", "fp8e5", "fp8e5b16"), 1),
    **dict.fromkeys(("i16", "u16", "fp16", "bf16"), 2),
    **dict.fromkeys(("i32", "u32", "fp32"), 4),
    **dict.fromkeys(("i64", "u64", "fp64"), 8),
}
"""The size of each scalar Triton type as a parameter and in memory: a boolean takes a byte."""
SCALARS = frozenset(SCALAR_BYTES) - {"u1"}
INTEGERS = frozenset(name for name in SCALARS if name[0] in "iu" and name != "i1")

_ALIASES = {
    # a bool has no sign: Triton makes one type of all of these
    "bool": "i1",
    "int1": "i1",
    "uint1": "i1",
    "u1": "i1",
    "short": "i16",
    "int": "i32",
    "long": "i64",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "float8e4nv": "fp8e4nv",
    "float8e4b8": "fp8e4b8",
    "float8e4b15": "fp8e4b15",
    "float8e5": "fp8e5",
    "float8e5b16": "fp8e5b16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}
_POINTER = re.compile(r"(const_)?pointer<([^<>]*)>")  # as Triton shows a pointer type
_PREFIX = re.compile(r"^(?:triton\.language|tl|torch|np|numpy)\.")
# Gluon's descriptors name a shared layout too; Triton evaluates it, so it is only literals here
_LAYOUT = r"(?:NVMMA|Swizzled|Padded)SharedLayout\([\w=,\[\] ]*\)"
_DESCRIPTOR = re.compile(
    rf"tensordesc<\s*([\w.]+)\s*\[\s*(\d+(?:\s*,\s*\d+)*)\s*\]\s*(,\s*{_LAYOUT}\s*)?>", re.ASCII
)


class UnknownType(ValueError):
    """The text names no Triton type; the message has one that is, or `why` this one cannot be."""

    def __init__(self, written: str, why: str | None = None) -> None:
        super().__init__(written)
        self.written = written
        self.why = why

    def __str__(self) -> str:
        """Return the message. It computes suggestions late: many errors are never shown."""
        if self.why:
            return f"{shown(self.written)} {self.why}"
        return (
            f"{shown(self.written)} is not a Triton type.{_meant_by(self.written)} "
            f"Scalars are {' '.join(sorted(SCALARS))}; a pointer is written *fp32, "
            "a pointer to const *kfp32, a descriptor tensordesc<fp16[64,64]>."
        )


def _meant_by(written: str) -> str:
    """Return what may have been meant: a pointer for a pointer, unless only its star is wrong."""
    text = written[:MAX_TYPE_CHARS].strip().lower()
    element = text.lstrip("*k")
    marks = text[: len(text) - len(element)]
    name = _PREFIX.sub("", element)
    meant = closest(name, SCALARS, ALIKE_AMONG_FEW)
    if meant is None:
        return ""
    is_pointer_meant = marks.startswith("*") and name != meant
    return f" Did you mean `{marks if is_pointer_meant else ''}{meant}`?"


def canonical_dtype(written: str) -> str:
    """Return the short Triton name of an element type: `float32`, `tl.float32` → `fp32`.

    Raises UnknownType.
    """
    name = _PREFIX.sub("", written.strip()).removesuffix("_t")
    name = _ALIASES.get(name, name)
    if name not in SCALARS:
        raise UnknownType(written)
    return name


def canonical_type(written: str) -> str:
    """Return the one spelling of a parameter type: `*float32` → `*fp32`, `tl.int32` → `i32`.

    Raises UnknownType.
    """
    text = written.strip()
    if len(text) > MAX_TYPE_CHARS:
        raise UnknownType(written)
    try:
        if text.startswith("*"):
            return _canonical_pointer(text)
        if match := _POINTER.fullmatch(text):
            pointed = canonical_type("*" + match[2])
            return _to_const(pointed) if match[1] else pointed
        if text.startswith("const ") or text.endswith("*"):
            return _canonical_c_pointer(text)
        if match := _DESCRIPTOR.fullmatch(text):
            return _canonical_descriptor(match)
        return canonical_dtype(text)
    except UnknownType as error:
        raise UnknownType(written, error.why) from None


def _canonical_pointer(text: str) -> str:
    element = text[1:].strip()
    if element.startswith("*"):
        return "*" + _canonical_pointer(element)
    if element.startswith("const "):
        return "*k" + canonical_dtype(element.removeprefix("const "))
    if element.startswith("k") and (_PREFIX.sub("", element[1:]) in SCALARS | _ALIASES.keys()):
        return "*k" + canonical_dtype(element[1:])
    return "*" + canonical_dtype(element)


def _canonical_c_pointer(text: str) -> str:
    """Forms such as `float*`, `const float*` and `const *fp32`, valid in annotations."""
    bare = text.removeprefix("const ").strip()
    pointed = canonical_type("*" + bare[:-1] if bare.endswith("*") else bare)
    if not is_pointer(pointed):
        raise UnknownType(text)
    return pointed if bare == text else _to_const(pointed)


def _to_const(name: str) -> str:
    """Return the pointer to const of a canonical pointer type."""
    if name[1:] not in SCALARS:
        raise UnknownType(name)
    return f"*k{name[1:]}"


def _canonical_descriptor(match: re.Match[str]) -> str:
    extents = [int(extent) for extent in match[2].split(",")]
    uneven = next((extent for extent in extents if extent & (extent - 1) or not extent), None)
    if uneven is not None:
        why = f"has a block whose extents are not all powers of 2: {uneven} is not"
        raise UnknownType(match[0], why)
    layout = re.sub(r"\s+", "", match[3] or "")
    return f"tensordesc<{canonical_dtype(match[1])}[{','.join(map(str, extents))}]{layout}>"


def is_parameter_type(name: str) -> bool:
    """Return True if a kernel can have a parameter of this type, as `canonical_type` spells it.

    A descriptor may have extents that Triton's front end refuses: IR is its author's.
    """
    if len(name) > MAX_TYPE_CHARS:
        return False
    if match := _DESCRIPTOR.fullmatch(name):
        return match[1] in SCALAR_BYTES and match[2].count(",") < MAX_DESCRIPTOR_EXTENTS
    element = name.lstrip("*")
    return (element.removeprefix("k") if element != name else element) in SCALAR_BYTES


def is_pointer(name: str) -> bool:
    """Return True if a canonical type is a pointer."""
    return name.startswith("*")
