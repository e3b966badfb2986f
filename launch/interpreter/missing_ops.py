"""Gives the interpreter operations that it lacks of Triton's language, or refuses them by name.

It is given libdevice, atomic operations of tensor descriptors, methods of aggregates, and the
target that a kernel asks for.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import PurePath
from typing import Any

import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime import interpreter as triton_interpreter
from triton.runtime.interpreter import InterpretedFunction, TensorHandle

from compiler.back import triton_api
from compiler.diagnostic import file_in_kernel
from launch.interpreter import libdevice

_LANGUAGE = "language"
_WRAPPERS = frozenset({"wrapper", "operation", "<lambda>", "call"})


class NeedsGpu(NotImplementedError):
    """An operation that only a GPU has; the message is its name."""


def is_missing(error: BaseException) -> bool:
    """Whether Triton's interpreter says that it lacks an operation."""
    if isinstance(error, NeedsGpu):
        return True
    if isinstance(error, NotImplementedError):
        return "interpreter mode" in str(error)
    return isinstance(error, AttributeError) and type(error.obj).__name__ == "InterpreterBuilder"


def words(error: BaseException) -> str:
    """Return what to say of an error that `is_missing`."""
    named = str(error) if isinstance(error, NeedsGpu) else _operation(error)
    return f"{named} does not run on Triton's CPU interpreter: it needs a GPU"


def _operation(error: BaseException) -> str:
    """Return the function of Triton's that the user's innermost line called."""
    called = None
    for summary in traceback.extract_tb(error.__traceback__):
        if file_in_kernel(summary.filename):
            called = None
        elif called is None and _is_of_language(summary):
            called = summary.name
    return f"tl.{called}" if called else "this operation"


def _is_of_language(summary: traceback.FrameSummary) -> bool:
    folders: Iterable[str] = PurePath(summary.filename).parts
    return _LANGUAGE in folders and summary.name not in _WRAPPERS


_CUDA = "triton.language.extra.cuda"
_LIBDEVICE = "triton.language.extra.libdevice"
_REDUCTIONS = {
    "ADD": ("FADD", "ADD"),
    "AND": (None, "AND"),
    "OR": (None, "OR"),
    "XOR": (None, "XOR"),
}
"""Of descriptors: the atomic operation on floats, and that on integers."""


def improve(semantic: Any) -> None:
    """Change Triton's modules. To be called once in a process, before user code is loaded."""
    imported = importlib.import_module(_CUDA)
    for package in (
        imported,
        getattr(getattr(tl, "extra", None), "cuda", imported),
    ):  # Triton loads it twice
        for module in (package, package.libdevice, importlib.import_module(f"{_CUDA}.utils")):
            for name, value in list(vars(module).items()):
                if tl.core.is_builtin(value):
                    setattr(module, name, partial(_called, value, semantic))
    general = importlib.import_module(_LIBDEVICE)
    for name, value in list(vars(general).items()):
        if inspect.isfunction(value):
            own = getattr(imported.libdevice, name, None)
            setattr(general, name, own or partial(_refuse, name))
    if hasattr(tl.core, "_aggregate"):
        tl.core._aggregate = partial(_aggregate, tl.core._aggregate)


def prepare(builder: Any, target: str | None) -> None:
    """Give `builder` operations, and kernels a target, as "cuda:90", to ask for."""
    builder.create_extern_elementwise = _extern_elementwise
    builder.create_inline_asm = _inline_asm
    builder.create_descriptor_reduce = partial(_descriptor_reduce, builder)
    backend, _, architecture = (target or "cuda:90").partition(":")
    number = architecture.partition(":")[0]
    wanted = GPUTarget(backend, int(number) if number.isdigit() else number, 32)
    info: Any = importlib.import_module("triton.language.target_info")
    info.current_target = lambda: wanted


def _called(function: Callable[..., Any], semantic: Any, *operands: Any, **named: Any) -> Any:
    try:
        return function(*operands, **{**named, "_semantic": semantic})
    except KeyError as error:  # Triton's table of argument types
        message = f"{function.__name__} of libdevice takes no {_types(error.args[0])}"
        raise TypeError(message) from None


def _types(kinds: Any) -> str:
    return ", ".join(map(str, kinds)) if isinstance(kinds, (tuple, tl.tuple)) else str(kinds)


def _refuse(name: str, *_: Any, **__: Any) -> Any:
    raise NeedsGpu(f"libdevice.{name}")


def _extern_elementwise(
    _name: str, _path: str, symbol: str, operands: list[Any], kind: Any, _pure: bool
) -> Any:
    function = libdevice.function_of(symbol)
    if function is None:
        raise NeedsGpu(f"libdevice's {symbol}")
    numbers = triton_interpreter._get_np_dtype(kind)
    return TensorHandle(libdevice.call(function, operands, numbers), kind.scalar)


def _inline_asm(*_: Any) -> Any:
    message = "inline assembly (tl.inline_asm_elementwise, or what is made of it)"
    raise NeedsGpu(message)


def _descriptor_reduce(builder: Any, kind: Any, desc: Any, value: Any, offsets: Any) -> Any:
    pointers, mask = desc.materialize_pointers(offsets)
    of_floats, of_integers = _REDUCTIONS.get(kind.name, (None, None))
    name = of_floats if value.dtype.is_floating() else of_integers
    if name is None:
        raise NeedsGpu(f"atomic_{kind.name.lower()} of a tensor descriptor of {value.dtype}")
    operation = getattr(triton_api.ir.ATOMIC_OP, name)
    semantics, scope = triton_api.ir.MEM_SEMANTIC.RELAXED, triton_api.ir.MEM_SYNC_SCOPE.GPU
    return builder.create_atomic_rmw(operation, pointers, value, mask, semantics, scope)


def _aggregate(first: Callable[[Any], Any], cls: Any) -> Any:
    """Make an aggregate as Triton does, and leave it those methods that are jit functions."""
    made = first(cls)
    for name, member in inspect.getmembers(cls):
        if isinstance(member, InterpretedFunction) and name not in vars(made):
            setattr(made, name, _method(member))
    return made


def _method(function: Any) -> Callable[..., Any]:
    def method(self: Any, *operands: Any, **named: Any) -> Any:
        return function(self, *operands, **named)

    return method
