"""All that depends on Triton's CPU interpreter, 3.6 to 3.9: version differences live here.

The interpreter is changed through its public objects only, and for good: its process runs one
launch. It must have been imported with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter
from triton.runtime.errors import InterpreterError
from triton.runtime.interpreter import InterpretedFunction, TensorHandle

from compiler.launching import narrow
from compiler.launching.dtypes import Array
from compiler.launching.finding import Access

__all__ = ["InterpretedFunction", "InterpreterError"]

Admit = Callable[[Access, Array, "Array | None", int], Array]
Refuse = Callable[[str], None]

_BUILDER: Any = triton_interpreter.interpreter_builder
_SEMANTIC: Any = triton_interpreter.interpreter_semantic
_SCALARS = {
    "i1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u1": "int1",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "fp16": "fp16",
    "bf16": "bf16", "fp32": "fp32", "fp64": "fp64",
}  # fmt: skip
_LIBRARY = "triton.language"


def is_on() -> bool:
    """Whether Triton was imported as its interpreter: its own library must be interpreted too."""
    return isinstance(tl.cdiv, InterpretedFunction)


def program() -> tuple[int, int, int]:
    """Return the id of the program that is running."""
    x, y, z = _BUILDER.grid_idx
    return x, y, z


def pointer(address: int, dtype: str) -> Any:
    """Return a kernel argument that points at `address`."""
    kind = tl.pointer_type(tl.str_to_ty(dtype, None))
    return tl.tensor(TensorHandle(np.array([address], np.uint64), kind), kind)


def scalar(value: Any, dtype: str) -> Any:
    """Return a kernel argument that is one number of the Triton type `dtype`."""
    handle = getattr(_BUILDER, f"get_{_SCALARS[dtype]}")(value)
    return tl.tensor(handle, handle.dtype)


def constexpr(value: Any) -> Any:
    """Return a value that the kernel sees as a `tl.constexpr`."""
    return tl.constexpr(value)


def descriptor(
    base: Any, shape: Sequence[int], strides: Sequence[int], block: Sequence[int], padding: str
) -> Any:
    """Return a tensor descriptor, as a host would make it. Raises what Triton's checks raise."""
    return _SEMANTIC.make_tensor_descriptor(
        base,
        [scalar(extent, "i32") for extent in shape],
        [*(scalar(stride, "i64") for stride in strides[:-1]), tl.constexpr(strides[-1])],
        [tl.constexpr(extent) for extent in block],
        padding_option=padding,
    )


def prepare(*, check_overflow: bool) -> None:
    """Make the interpreter calculate as a GPU does, and check `tl.device_assert` as a debug build.

    Integer overflow is checked if asked.
    """
    narrow.calculate_in_float32(_BUILDER)
    wanted = {"debug": True, "sanitize_overflow": check_overflow}
    known = {field.name for field in dataclasses.fields(_BUILDER.options)}
    chosen = {name: value for name, value in wanted.items() if name in known}
    _BUILDER.options = dataclasses.replace(_BUILDER.options, **chosen)


def watch_accesses(admit: Admit) -> None:
    """Route every access through `admit`, which makes its addresses real or raises.

    These four operations are the only ones that touch memory; all others are made of them.
    """
    load, store = _original("create_masked_load"), _original("create_masked_store")
    exchange, update = _original("create_atomic_cas"), _original("create_atomic_rmw")

    def masked_load(ptrs: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        real = admit(Access.LOAD, ptrs.data, _lanes(mask), _size(ptrs))
        return load(TensorHandle(real, ptrs.dtype), mask, *rest, **named)

    def masked_store(ptrs: Any, value: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        size = max(_size(ptrs), value.data.itemsize)
        real = admit(Access.STORE, ptrs.data, _lanes(mask), size)
        return store(TensorHandle(real, ptrs.dtype), value, mask, *rest, **named)

    def atomic_cas(ptr: Any, *rest: Any, **named: Any) -> Any:
        real = admit(Access.ATOMIC, ptr.data, None, _size(ptr))
        return exchange(TensorHandle(real, ptr.dtype), *rest, **named)

    def atomic_rmw(operation: Any, ptr: Any, val: Any, mask: Any, *rest: Any, **named: Any) -> Any:
        _refuse_narrow(val)
        size = max(_size(ptr), val.data.itemsize)
        real = admit(Access.ATOMIC, ptr.data, _lanes(mask), size)
        return update(operation, TensorHandle(real, ptr.dtype), val, mask, *rest, **named)

    _BUILDER.create_masked_load, _BUILDER.create_masked_store = masked_load, masked_store
    _BUILDER.create_atomic_cas, _BUILDER.create_atomic_rmw = atomic_cas, atomic_rmw


def watch_assertions(refuse: Refuse) -> None:
    """Have `refuse` hear of every `tl.device_assert` and `tl.assume` that does not hold."""

    def check(condition: Any, message: Any, *_: Any) -> None:
        if not condition.data.all():
            refuse(f"tl.device_assert failed: {message}" if message else "tl.device_assert failed")

    def assume(condition: Any) -> None:
        if not condition.data.all():
            refuse("tl.assume was given something that does not hold")

    _BUILDER.create_assert, _BUILDER.create_assume = check, assume


def _refuse_narrow(value: Any) -> None:
    if narrow.narrow_type(value) is not None:
        message = f"atomic operations on {value.dtype} do not run on the interpreter"
        raise NotImplementedError(message)


def _lanes(mask: Any) -> Array:
    return np.asarray(mask.data)  # before 3.9 descriptors pass arrays, whose data are no array


def _original(operation: str) -> Callable[..., Any]:
    return partial(getattr(type(_BUILDER), operation), _BUILDER)


def _size(pointers: Any) -> int:
    bits = getattr(pointers.get_element_ty(), "primitive_bitwidth", 64)
    return max(bits // 8, 1)


def improve() -> None:
    """Change the interpreter's classes: narrow reductions, and faster calls of jit functions.

    To be called once in a process. For each call of a jit function Triton looks through all of
    `triton.language`, some tenths of a millisecond; once for each function is enough.
    """
    narrow.reduce_in_float32()
    first = InterpretedFunction.__call__
    seen: set[int] = set()

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        if id(self) in seen:
            return self.rewrite()(*arguments, **named)
        seen.add(id(self))
        self.rewrite()  # which makes triton.language visible to a function that does not import it
        return first(self, *arguments, **named)

    InterpretedFunction.__call__ = call


def read_library() -> None:
    """Have the interpreter rewrite Triton's own jit functions now: a child cannot read files."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith(_LIBRARY):
            for value in list(vars(module).values()):
                if isinstance(value, InterpretedFunction):
                    value.rewrite()


def run(kernel: Any, grid: Sequence[int], arguments: Sequence[Any]) -> None:
    """Run every program of `grid`, one after another. Raises what the kernel raises."""
    with np.errstate(all="ignore"):
        kernel.run(*arguments, grid=tuple(grid), warmup=False)
