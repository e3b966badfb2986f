"""Arithmetic of bf16 and fp8 on the interpreter, which holds them as integers of their bits.

Triton's own interpreter adds, multiplies and sums those bits, and truncates where a GPU rounds.
Here every operation widens them to float32, calculates, and rounds to nearest even. Floats become
wide integers as on a GPU, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import ReduceOps, ScanOps, TensorHandle

from compiler.back import triton_api
from launch.buffers.element_types import STORED, Array, cast

NARROW = frozenset({"bf16", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16"})
_SATURATING = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}
"""Integers that floats become as on a GPU: beyond their range its nearest end."""
_WIDEST_BYTES = 8
_ARITHMETIC = ("binary_op", "unary_op", "ternary_op", "create_fma", "create_dot")


def calculate_in_float32(builder: Any) -> None:
    """Change arithmetic, constants, conversions and printing of the interpreter's `builder`."""

    def get_bf16(value: float) -> Any:  # which versions before 3.9 lack
        return TensorHandle(_bits(np.array([value], np.float32), "bf16"), tl.bfloat16)

    for operation in _ARITHMETIC:
        setattr(builder, operation, _through_float32(_original(builder, operation)))
    builder.get_bf16 = get_bf16
    _convert_by_value(builder)
    _print_values(builder)


def _convert_by_value(builder: Any) -> None:
    convert = _original(builder, "cast_impl")
    convert_float = _original(builder, "create_fp_to_fp")
    truncate = triton_api.ir.ROUNDING_MODE.RTZ

    def cast_impl(source: Any, kind: Any) -> Any:
        name = kind.scalar.name
        values = _widened(source)
        if name in NARROW:
            return TensorHandle(_bits(values.data, name), kind.scalar)
        if values.data.dtype.kind == "f" and name in _SATURATING:
            return TensorHandle(_saturated(values.data, _SATURATING[name]), kind.scalar)
        return convert(values, kind)

    def create_fp_to_fp(source: Any, kind: Any, rounding: Any) -> Any:
        either = {narrow_type(source), kind.scalar.name} & NARROW
        if not either or rounding == truncate:
            return convert_float(source, kind, rounding)
        return cast_impl(source, kind)

    builder.cast_impl, builder.create_fp_to_fp = cast_impl, create_fp_to_fp


def _saturated(values: Array, name: str) -> Array:
    """Return floats as integers. NaN becomes 0, or where 64 bits are involved the topmost bit."""
    integers = cast(values, name)
    if max(values.itemsize, integers.itemsize) == _WIDEST_BYTES:
        top = 1 << (8 * integers.itemsize - 1)
        integers.view(f"u{integers.itemsize}")[np.isnan(values)] = top
    return integers


def _print_values(builder: Any) -> None:
    show = _original(builder, "create_print")

    def create_print(prefix: Any, hexadecimal: Any, values: Sequence[Any], *rest: Any) -> Any:
        shown = values if hexadecimal else [_widened(value) for value in values]
        return show(prefix, hexadecimal, shown, *rest)

    builder.create_print = create_print


def reduce_in_float32() -> None:
    """Change the interpreter's reductions and scans. To be called once in a process."""
    for kind in (ReduceOps, ScanOps):
        kind.apply_impl = _reducing(kind.apply_impl)


def narrow_type(handle: Any) -> str | None:
    """Return the narrow type that a handle holds the bits of, `None` if it is none."""
    name = getattr(getattr(handle, "dtype", None), "name", None)
    return name if name in NARROW and handle.data.dtype.kind == "u" else None


def _original(builder: Any, operation: str) -> Callable[..., Any]:
    return partial(getattr(type(builder), operation), builder)


def _widened(handle: Any) -> Any:
    name = narrow_type(handle)
    if name is None:
        return handle
    return TensorHandle(handle.data.view(STORED[name]).astype(np.float32), tl.float32)


def _bits(values: Array, name: str) -> Array:
    return cast(values, name).view(f"u{STORED[name].itemsize}")


def _through_float32(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation whose result has the type of its last tensor: a sum's start, say.

    Of two tensors it is the first's: 3.6 divides bf16 by fp32 into bf16.
    """

    def operation(*operands: Any) -> Any:
        handles = [operand for operand in operands if isinstance(operand, TensorHandle)]
        if not any(map(narrow_type, handles)):
            return original(*operands)
        result = original(*(_widened(operand) for operand in operands))
        like = handles[0] if len(handles) == 2 else handles[-1]
        name = narrow_type(like)
        if name is None or result.data.dtype != np.float32:
            return result
        return TensorHandle(_bits(result.data, name), like.dtype)

    return operation


def _reducing(original: Callable[..., Any]) -> Callable[..., Any]:
    def apply_impl(self: Any, inputs: Sequence[Any]) -> Any:
        names = [narrow_type(value.handle) for value in inputs]
        if not any(names):
            return original(self, inputs)
        returned = original(self, tuple(_widened_tensor(value) for value in inputs))
        results = returned if isinstance(returned, (list, tuple)) else [returned]
        narrowed = [
            _narrowed_tensor(result, name) if name else result
            for result, name in zip(results, names, strict=False)
        ]
        return narrowed if isinstance(returned, (list, tuple)) else narrowed[0]

    return apply_impl


def _widened_tensor(value: Any) -> Any:
    if narrow_type(value.handle) is None:
        return value
    return tl.tensor(_widened(value.handle), tl.block_type(tl.float32, list(value.shape)))


def _narrowed_tensor(value: Any, name: str) -> Any:
    kind = tl.str_to_ty(name, None)
    handle = TensorHandle(_bits(value.handle.data, name), kind)
    shape = list(value.shape)
    return tl.tensor(handle, tl.block_type(kind, shape) if shape else kind)
