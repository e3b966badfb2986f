"""Element types of a tape's tensors: their names, and their sizes in bytes."""

from collections.abc import Mapping

ELEMENT_BYTES: Mapping[str, int] = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8,
    "fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8,
    "fp8e4nv": 1, "fp8e4b8": 1, "fp8e5": 1, "fp8e5b16": 1,
    "complex64": 8, "complex128": 16,
}  # fmt: skip
"""The dtypes of tensors, in Triton's spelling; complex ones in torch's, as Triton has none."""

KERNEL_DTYPES = frozenset(ELEMENT_BYTES) - {"complex64", "complex128"} | {"fp8e4b15"}
"""The dtypes that a kernel may get as a constexpr."""

TORCH_NAMES: Mapping[str, str] = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64",
    "fp8e4nv": "float8_e4m3fn", "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5": "float8_e5m2", "fp8e5b16": "float8_e5m2fnuz",
    "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip
"""The name in torch of each type."""
TRITON_NAMES: Mapping[str, str] = {torch: name for name, torch in TORCH_NAMES.items()}
