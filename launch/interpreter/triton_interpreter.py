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

from compiler.diagnostic import file_in_kernel
from launch.checks.finding import KernelPlace
from launch.interpreter import fast_paths, low_precision, memory_ops, missing_ops
from launch.interpreter.memory_ops import Admit

__all__ = ["InterpretedFunction", "InterpreterError"]

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


def place() -> KernelPlace:
    """Return where the kernel is: the innermost line of the user's files on the stack."""
    frame = sys._getframe(1)
    while frame is not None:
        file = file_in_kernel(frame.f_code.co_filename)
        if file is not None:
            return KernelPlace(file, frame.f_lineno, program())
        frame = frame.f_back  # type: ignore[assignment]
    return KernelPlace(None, None, program())


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


def prepare(*, check_overflow: bool, target: str | None) -> None:
    """Make the interpreter calculate as a GPU does, and check `tl.device_assert` as a debug build.

    Integer overflow is checked if asked. A kernel may ask for its `target`.
    """
    low_precision.calculate_in_float32(_BUILDER)
    missing_ops.prepare(_BUILDER, target)
    wanted = {"debug": True, "sanitize_overflow": check_overflow}
    known = {field.name for field in dataclasses.fields(_BUILDER.options)}
    chosen = {name: value for name, value in wanted.items() if name in known}
    _BUILDER.options = dataclasses.replace(_BUILDER.options, **chosen)


def watch_accesses(admit: Admit) -> None:
    """Route every access through `admit`, which makes its addresses real or raises."""
    memory_ops.watch_memory_ops(_BUILDER, admit)


def watch_assertions(refuse: Refuse) -> None:
    """Have `refuse` called for every `tl.device_assert` and `tl.assume` that does not hold."""

    def check(condition: Any, message: Any, *_: Any) -> None:
        if not condition.data.all():
            refuse(f"tl.device_assert failed: {message}" if message else "tl.device_assert failed")

    def assume(condition: Any) -> None:
        if not condition.data.all():
            refuse("tl.assume was given something that does not hold")

    _BUILDER.create_assert, _BUILDER.create_assume = check, assume


def improve() -> None:
    """Change the interpreter's classes: what it lacks, narrow reductions, and what takes it long.

    To be called once in a process. For each call of a jit function Triton looks through all of
    `triton.language`, some tenths of a millisecond; once for each function is enough.
    """
    low_precision.reduce_in_float32()
    missing_ops.improve(_SEMANTIC)
    fast_paths.intern_types()
    fast_paths.cache_broadcasts(_SEMANTIC)
    fast_paths.cache_promotions(_SEMANTIC)
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


def run(
    kernel: Any, grid: Sequence[int], arguments: Sequence[Any], *, backwards: bool = False
) -> None:
    """Run every program of `grid`, one after another. Raises what the kernel raises.

    `backwards` begins with the last one.
    """
    place = partial(type(_BUILDER).set_grid_idx, _BUILDER)

    def from_the_end(*program: int) -> None:
        place(*(extent - 1 - at for extent, at in zip(grid, program, strict=True)))

    _BUILDER.set_grid_idx = from_the_end if backwards else place
    with np.errstate(all="ignore"):
        kernel.run(*arguments, grid=tuple(grid), warmup=False)
