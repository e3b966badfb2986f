"""MLIR types as NumPy sees them: the shape and the dtype of the elements."""

import math
import re
import struct
from functools import cache

from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.refusal import Untranslatable

_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.*)>", re.DOTALL)
_POINTER = re.compile(r"!tt\.ptr<(.+?)(?:, (?:\d+|\"constant\"))?>", re.DOTALL)
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)(\w+)")

DTYPES = {
    "i1": "np.bool_", "i8": "np.int8", "i16": "np.int16", "i32": "np.int32", "i64": "np.int64",
    "index": "np.int64", "f16": "np.float16", "f32": "np.float32", "f64": "np.float64",
    "bf16": "ml_dtypes.bfloat16", "f8E4M3FN": "ml_dtypes.float8_e4m3fn",
    "f8E5M2": "ml_dtypes.float8_e5m2", "f8E4M3FNUZ": "ml_dtypes.float8_e4m3fnuz",
    "f8E5M2FNUZ": "ml_dtypes.float8_e5m2fnuz", "f8E4M3B11FNUZ": "ml_dtypes.float8_e4m3b11fnuz",
}  # fmt: skip
"""NumPy's dtype, as text, by MLIR's element type. `ml_dtypes` has those that NumPy lacks."""
TRITON_NAMES = {
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "f16": "fp16", "f32": "fp32",
    "f64": "fp64", "bf16": "bf16", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5",
    "f8E4M3FNUZ": "fp8e4b8", "f8E5M2FNUZ": "fp8e5b16", "f8E4M3B11FNUZ": "fp8e4b15",
}  # fmt: skip
WEAK = frozenset({"i8", "i16", "i32", "i64", "index", "f16", "f32", "f64"})
"""Element types that keep their dtype next to a Python number, so that one may be bare."""
_LAYOUT = {"f16": ("<H", "<e"), "f32": ("<I", "<f"), "f64": ("<Q", "<d")}


@cache
def shape_of(type_: str) -> tuple[int, ...]:
    """Return the shape of a type: () for scalars."""
    match = _TENSOR.fullmatch(type_)
    return tuple(int(part) for part in match[1].split("x")[:-1]) if match else ()


@cache
def element_of(type_: str) -> str:
    """Return the type of a tensor's elements; a scalar is its own element."""
    match = _TENSOR.fullmatch(type_)
    return match[2] if match else type_


@cache
def pointee_of(type_: str) -> str | None:
    """Return the pointee of a pointer, or of a tensor of pointers; None for other types."""
    match = _POINTER.fullmatch(element_of(type_))
    return match[1] if match else None


@cache
def descriptor_of(type_: str) -> tuple[tuple[int, ...], str] | None:
    """Return block shape and element type of a tensor descriptor, None for other types."""
    match = _DESCRIPTOR.match(type_)
    return (tuple(int(part) for part in match[1].split("x")[:-1]), match[2]) if match else None


def is_tensor(type_: str) -> bool:
    """Return True for tensors, False for scalars."""
    return type_.startswith("tensor<")


def dtype_of(type_: str) -> str:
    """Return the dtype of a type's elements as text. Raises `Untranslatable` for others."""
    element = element_of(type_)
    if element in DTYPES:
        return DTYPES[element]
    if pointee_of(element) is not None:
        return "np.int64"
    message = f"NumPy has no elements of type {element[:80]}"
    raise Untranslatable(message)


def bits_of(element: str) -> int:
    """Return the width of an integer type: 32 for `i32`."""
    return 64 if element == "index" else int(element.lstrip("i"))


def constant_of(operation: Operation) -> tuple[str, bool]:
    """Return a constant as Python text, and whether it is one number for all elements."""
    type_ = operation.results[0].type
    element = element_of(type_)
    words = operation.attributes["value"]
    if words.startswith("dense<"):
        inside = words[len("dense<") : words.rfind(">", 0, words.rfind(" : "))]
        if inside.startswith(("[", '"')):
            return _array(inside, type_), False
        return _number(inside, element), True
    return _number(words.rpartition(" : ")[0] or words, element), True


def _number(words: str, element: str) -> str:
    """Return one number of an attribute, with its dtype where a Python number would lose it."""
    if element == "i1":
        return "True" if words in {"true", "-1", "1"} else "False"
    if element.startswith("i"):
        return str(int(words))
    dtype = dtype_of(element)
    if words.startswith("0x"):
        return _float_of_bits(int(words, 16), element)
    text = repr(float(words))
    return text if element in WEAK else f"{dtype}({text})"


def _float_of_bits(bits: int, element: str) -> str:
    if element == "bf16":
        return (
            f"{dtype_of(element)}({_spelt(struct.unpack('<f', struct.pack('<I', bits << 16))[0])})"
        )
    if element not in _LAYOUT:
        return f"np.uint8({bits}).view({dtype_of(element)})"
    packed, unpacked = _LAYOUT[element]
    return _spelt(struct.unpack(unpacked, struct.pack(packed, bits))[0])


def _spelt(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def _array(inside: str, type_: str) -> str:
    """Return a constant whose elements differ."""
    shape, element = shape_of(type_), element_of(type_)
    if inside.startswith('"0x'):
        return (
            f'np.frombuffer(bytes.fromhex("{inside[3:].rstrip(chr(34))}"), {dtype_of(element)})'
            f".reshape({shape})"
        )
    numbers = [_number(part, element) for part in re.split(r"[\[\],\s]+", inside) if part]
    return f"np.array([{', '.join(numbers)}], {dtype_of(element)}).reshape({shape})"
