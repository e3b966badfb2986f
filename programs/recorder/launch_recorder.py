"""Records launches of Triton kernels instead of running them: grid, arguments, options.

An autotuned launch is recorded with every configuration that Triton would benchmark.

On the tape, tensors are their numbers, and a kernel is its name, with its file and line.
"""

import linecache
import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from operator import index
from types import CodeType
from typing import Any, NoReturn

import numpy as np
import torch
import triton.language as tl
from triton._C.libtriton import native_specialize_impl
from triton.backends.compiler import BaseBackend
from triton.runtime import _allocation
from triton.runtime.autotuner import Autotuner, Heuristics
from triton.runtime.jit import JITFunction, KernelParam

from programs.recorder.kernel_definitions import KernelName
from programs.recorder.launch_collection import CollectedLaunch, have_equal_hooks
from programs.recorder.record_order import NotRecordable
from programs.recorder.recording import Recording, current, refused
from programs.recorder.refusals import named
from programs.recorder.tape_writer import scalar
from programs.tape.schema import MAX_GRID, MAX_VARIANTS

_UNSPECIALIZED = ("u1", "fp", "bf")
"""Prefixes of the annotated types whose values the JIT does not check."""
_PASSED_ON = (torch.Tensor, tl.constexpr, JITFunction, Autotuner, Heuristics)
_ALIGNED_BYTES = 16
_NO_OPTIONS = frozenset({"debug", "instrumentation_mode", "fpsan_homomorphic_casts"})
_OPTIONS = frozenset({
    "enable_fp_fusion", "kpack", "launch_cooperative_grid", "launch_pdl", "matrix_instr_nonkdim",
    "maxnreg", "num_ctas", "num_stages", "num_warps", "waves_per_eu", "allow_flush_denorm",
    "default_dot_input_precision", "max_num_imprecise_acc_default",
})  # fmt: skip
_FLAGS = frozenset({"debug", "warmup"})


class Launched:
    """The result of a launch, in place of a compiled kernel, which a recording does not have."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refused("unsupported_launch", f"it reads {name!r} of a compiled kernel")


class WarmedKernel(Launched):
    """A kernel that was compiled for some `arguments`, and is launched with others by position.

    `launch` takes the grid, and all arguments by name.
    """

    def __init__(
        self, kernel: Any, arguments: dict[str, Any], launch: Callable[[Any, dict[str, Any]], Any]
    ) -> None:
        self._kernel, self._arguments, self._launch = kernel, arguments, launch

    def __getitem__(self, grid: Any) -> Callable[..., Launched]:
        """Return what launches the kernel, with the constants that it was compiled for."""

        def run(*args: Any, stream: Any = None) -> Launched:
            del stream
            parameters = self._kernel.params
            if len(args) != len(parameters):
                message = f"Expected {len(parameters)} arguments, but got {len(args)}"
                raise TypeError(message)
            arguments = dict(self._arguments)
            for parameter, value in zip(parameters, args, strict=True):
                if not parameter.is_constexpr:
                    if not parameter.do_not_specialize:
                        self._check(parameter.name, value)
                    arguments[parameter.name] = value
            return self._launch((grid[0], grid[1], grid[2]), arguments)  # type: ignore[no-any-return]

        return run

    def _check(self, name: str, value: Any) -> None:
        known = self._arguments[name]
        if _compiled_as(known) != _compiled_as(value):
            detail = (
                f"it launches what warmup() compiled for another {name!r}: Triton compiles 1, "
                "multiples of 16 and aligned tensors apart; warm it up with such arguments"
            )
            refused("unsupported_launch", detail)


def _compiled_as(value: Any) -> Any:
    """Return what a kernel is compiled for, of an argument."""
    if isinstance(value, torch.Tensor):
        offset_bytes = value.storage_offset() * value.itemsize
        return value.dtype, offset_bytes % _ALIGNED_BYTES == 0
    if type(value).__name__ == "MockTensor":
        return value.dtype, True
    if isinstance(value, tl.constexpr):
        return _compiled_as(value.value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return type(value)
    if isinstance(value, int):
        return value == 1 or (value % _ALIGNED_BYTES == 0, -(2**31) <= value < 2**31)
    if isinstance(value, list | tuple):
        return [_compiled_as(each) for each in value]
    return type(value)


def install() -> None:
    """Replace Triton's launches by recordings of them."""
    JITFunction.run = _run
    JITFunction._unsafe_update_src = _update_source
    Autotuner.run = _run_autotuned
    Heuristics.run = _run_with_heuristics


def _update_source(self: Any, _: str) -> NoReturn:
    """Refuse a change of a kernel's source, as kernels are compiled from the posted source."""
    refused(
        "unsupported_launch",
        f"it changes the source of {self.__name__}: post the kernel with its final source",
    )


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Launched:
    """Record one launch of a jitted function."""
    recording = current()
    if recording is None:
        refused("unsupported_launch", f"it compiles {self.__name__} without launching it")
    if warmup:
        return _warmed(self, args, kwargs)
    try:
        launch = _launch(recording, self, args, grid, kwargs)
        if recording.tries.is_open:
            recording.tries.add(launch)
        else:
            _write(recording, launch, [], None)
    except NotRecordable as refusal:
        raise recording.noted(refusal) from None
    return Launched()


def _warmed(kernel: Any, args: Any, kwargs: dict[str, Any]) -> WarmedKernel:
    """Return what launches a kernel with the constants and options of a `warmup`."""
    names = {parameter.name for parameter in kernel.params}
    options = {name: value for name, value in kwargs.items() if name not in names}
    bound = kernel.signature.bind(*args, **{n: v for n, v in kwargs.items() if n in names})
    bound.apply_defaults()

    def launch(grid: Any, arguments: dict[str, Any]) -> Any:
        return _run(kernel, grid=grid, **arguments, **options)

    return WarmedKernel(kernel, dict(bound.arguments), launch)


def _launch(
    recording: Recording, kernel: Any, args: Any, grid: Any, kwargs: dict[str, Any]
) -> CollectedLaunch:
    """Bind and check a launch. Raises what Triton raises for wrong arguments."""
    parameters = {parameter.name: parameter for parameter in kernel.params}
    for hook in kernel.pre_run_hooks:
        hook(*args, **kwargs)
    options = {name: value for name, value in kwargs.items() if name not in parameters}
    named = {name: value for name, value in kwargs.items() if name in parameters}
    bound = kernel.signature.bind(*args, **named)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    sizes = _sizes(grid(arguments) if callable(grid) else grid)
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    by_kind: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name, value in arguments.items():
        check_argument(parameters[name], value)
        by_kind[bool(parameters[name].is_constexpr)][name] = argument(recording, name, value)
    launch = CollectedLaunch(kernel, sizes, by_kind[0], by_kind[1], _options(options), tensors)
    kind = id(kernel), repr(launch.constexprs), repr(launch.options)
    recording.triton_changes.launched(kind, recording.lines.innermost())
    return launch


def _sizes(grid: Any) -> list[int]:
    """Return the three sizes of a grid. Raises what Triton raises for an invalid one.

    Triton launches nothing if the product of the sizes is not positive, so negative ones are 0.
    """
    rank = len(grid)
    sizes = [index(grid[axis]) if axis < max(rank, 1) else 1 for axis in range(len(MAX_GRID))]
    if prod(sizes) <= 0:
        sizes = [max(size, 0) for size in sizes]
    for size, most in zip(sizes, MAX_GRID, strict=True):
        if not 0 <= size <= most:
            detail = f"its grid is {tuple(sizes)}; sizes are from 0 to {MAX_GRID}"
            raise NotRecordable("unsupported_launch", detail)
    return sizes


def _options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a compilation. Raises `TypeError` for unknown ones, as Triton does."""
    kept = {}
    for name, value in options.items():
        if name in _NO_OPTIONS or value is None:
            continue
        if name not in _OPTIONS:
            raise TypeError(
                f"Keyword argument {name} was specified but unrecognised"  # Triton's message
            )
        kept[name] = scalar(value.value if isinstance(value, tl.constexpr) else value)
    return kept


def _write(
    recording: Recording,
    launch: CollectedLaunch,
    variants: list[CollectedLaunch],
    tuner: Any,
    hook_ops: int = 0,
) -> None:
    """Write a launch with its configurations; `tuner` is the autotuner that would tune now."""
    recording.values.forget_with_constants(launch.tensors)
    entry: dict[str, Any] = {
        "op": "launch",
        "kernel": kernel_name(recording, launch.kernel),
        "grid": launch.grid,
        "args": launch.args,
        "constexprs": launch.constexprs,
        "options": launch.options,
        "variants": [_variant(item) for item in variants],
        "reset_to_zero": _prepared_by(tuner, "reset_to_zero"),
        "restore_value": _prepared_by(tuner, "restore_value"),
    }
    if not isinstance(_allocation._allocator.get(), _allocation.NullAllocator):
        entry["allocator"] = True
    if tuner is not None and not tuner.user_defined_post_hook:
        entry["tunes"] = True
        entry["hook_ops"] = hook_ops
    recording.tape.write(entry)


def _prepared_by(tuner: Any, attribute: str) -> list[str]:
    """Return the arguments that a tuner prepares; a `pre_hook` of the user replaces all of that."""
    if tuner is None or tuner.user_defined_pre_hook:
        return []
    return list(getattr(tuner, attribute))


def _variant(item: CollectedLaunch) -> dict[str, Any]:
    members = {"grid": item.grid, "constexprs": item.constexprs, "options": item.options}
    return {**members, "unprepared": True} if item.unprepared else members


def _run_autotuned(self: Any, *args: Any, **kwargs: Any) -> Launched:
    """Record an autotuned launch: the first valid configuration, and the others as variants."""
    recording = current()
    if recording is None:
        refused("unsupported_launch", "it launches a kernel after the recording ended")
    self.nargs = dict(zip(self.arg_names, args, strict=False))
    configs = list(self.configs)
    _refuse_given_twice(configs, kwargs)
    if len(configs) > 1:
        configs = list(self.prune_configs(kwargs))
    first_time = len(configs) > 1 and _is_first_of_key(self, kwargs)
    ops_before = len(recording.tape.ops)
    if first_time and self.user_defined_pre_hook:
        settings = configs[0].all_kwargs()
        self.pre_hook({**self.nargs, **kwargs, **settings}, reset_only=True)
    tried = _tried(recording, self, configs, args, kwargs)
    self.best_config, first = tried[0]
    same = [
        replace(launch, unprepared=not have_equal_hooks(self.best_config, config))
        for config, launch in tried
        if launch.args == first.args
    ][:MAX_VARIANTS]
    self.nargs = None
    if recording.tries.is_open:
        for launch in same:
            recording.tries.add(launch)
    else:
        hook_ops = len(recording.tape.ops) - ops_before
        tuner = self if first_time else None
        _write(recording, first, same if len(configs) > 1 else [], tuner, hook_ops)
    return Launched()


def _refuse_given_twice(configs: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise `ValueError` if a launch and a configuration set the same argument, as Triton does."""
    for config in configs:
        twice = sorted(kwargs.keys() & config.kwargs.keys())
        if twice:
            raise ValueError(
                f"Conflicting meta-parameters: {', '.join(twice)}. Make sure that you don't "
                "re-define auto-tuned symbols."
            )


def _is_first_of_key(tuner: Any, kwargs: dict[str, Any]) -> bool:
    """Return True if Triton would tune now, and so apply `reset_to_zero` and `restore_value`."""
    arguments = {**tuner.nargs, **kwargs}
    arguments = {name: value for name, value in arguments.items() if name in tuner.arg_names}
    key = [str(arguments[name]) for name in tuner.keys if name in arguments]
    key += [str(value.dtype) for value in arguments.values() if hasattr(value, "dtype")]
    known = tuple(key) in tuner.cache
    tuner.cache[tuple(key)] = tuner.configs[0]
    return not known


def _tried(
    recording: Recording, tuner: Any, configs: list[Any], args: Any, kwargs: dict[str, Any]
) -> list[tuple[Any, CollectedLaunch]]:
    """Return the launches of each configuration that is valid for the arguments.

    The first one is the recorded launch, so ops of its `pre_hook` are recorded.
    """
    tried: list[tuple[Any, CollectedLaunch]] = []
    error: Exception | None = None
    for config in configs:
        settings = config.all_kwargs()
        try:
            with recording.tries.collecting() as launches:
                if tried:
                    with recording.silence():
                        _prepare(tuner, config, kwargs, settings)
                else:
                    _prepare(tuner, config, kwargs, settings)
                tuner.fn.run(*args, **kwargs, **settings)
        except (TypeError, ValueError, AssertionError, ZeroDivisionError) as raised:
            error = error or raised
            continue
        tried += [(config, launch) for launch in launches]
    if not tried:
        detail = "no configuration of the autotuner launches a kernel"
        raise error or NotRecordable("unsupported_launch", detail)
    return tried


def _prepare(tuner: Any, config: Any, kwargs: dict[str, Any], settings: dict[str, Any]) -> None:
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **settings})


def _run_with_heuristics(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Compute the arguments that heuristics set, as Triton does."""
    for name, heuristic in self.values.items():
        kwargs[name] = heuristic({**dict(zip(self.arg_names, args, strict=False)), **kwargs})
    return self.fn.run(*args, **kwargs)


def argument(recording: Recording, name: str, value: Any) -> Any:
    """Return an argument of a kernel as JSON. Raises `NotRecordable` if a tape cannot hold it."""
    tape = recording.tape
    if isinstance(value, torch.Tensor):
        return {"t": tape.number(value)}
    if isinstance(value, tl.constexpr):
        return argument(recording, name, value.value)
    if isinstance(value, tl.dtype):
        return {"dtype": _dtype(value)}
    if isinstance(value, (JITFunction, Autotuner, Heuristics)):
        return {"kernel": kernel_name(recording, value)}
    if isinstance(value, (list, tuple)):
        return {"tuple": [argument(recording, name, item) for item in value]}
    return _wrapped(tape, name, value)


def _wrapped(tape: Any, name: str, value: Any) -> Any:
    """Return an argument that wraps a tensor, or a plain value."""
    kind = type(value).__name__
    if kind == "TensorDescriptor":
        return {"descriptor": _descriptor(tape, value)}
    if kind == "TensorWrapper":
        pair = {"t": tape.number(value.base), "dtype": _dtype(value.dtype)}
        return {"reinterpreted": pair}
    if hasattr(value, "data_ptr"):
        raise NotRecordable("unsupported_launch", f"its argument {name!r} is a {kind}")
    try:
        return scalar(value)
    except NotRecordable as refusal:
        if refusal.reason == "value_dependent":
            raise
        detail = f"its argument {name!r} is {refusal.detail}"
        raise NotRecordable("unsupported_launch", detail) from None


def _dtype(dtype: Any) -> str:
    name = str(dtype.name)
    return {"int1": "i1"}.get(name, name.replace("uint", "u").replace("int", "i"))


def _descriptor(tape: Any, value: Any) -> dict[str, Any]:
    return {
        "t": tape.number(value.base),
        "shape": [int(size) for size in value.shape],
        "strides": [int(stride) for stride in value.strides],
        "block_shape": [int(size) for size in value.block_shape],
    }


def _line_of_def(code: CodeType) -> int:
    """Return the line of a function's `def`, as its code begins at its first decorator."""
    lines = linecache.getlines(code.co_filename)
    for line in range(code.co_firstlineno, len(lines) + 1):
        if lines[line - 1].lstrip().startswith(("def ", "async def ")):
            return line
    return code.co_firstlineno


def _defined(function: Any, found_as: KernelName | None) -> dict[str, Any]:
    """Return the file and name by which a kernel is compiled, and a line to show for it."""
    path = function.__code__.co_filename
    own = {"file": named(path), "line": _line_of_def(function.__code__)}
    if found_as is None:
        return own | {"name": function.__qualname__}
    file = str(found_as.module.get("__file__") or path)
    if file == path:
        return own | {"name": found_as.name}
    return {"file": named(file), "name": found_as.name, "line": _line_of_name(file, found_as.name)}


def _line_of_name(path: str, name: str) -> int:
    """Return the first line that begins with a variable's name, 1 without one."""
    lines = linecache.getlines(path)
    begin = re.compile(rf"{name}\b")
    return next((number for number, line in enumerate(lines, 1) if begin.match(line)), 1)


def kernel_name(recording: Recording, value: Any) -> str:
    """Return the name of a jitted function on the tape. Adds it to the tape's kernels if new."""
    kernel = value
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    found_as = recording.definitions.launched(kernel, recording.lines.innermost())
    described = {
        **_defined(kernel.fn, found_as),
        "parameters": [
            {"name": parameter.name, "constexpr": bool(parameter.is_constexpr)}
            for parameter in kernel.params
        ],
    }
    kernels = recording.tape.kernels
    for name, known in kernels.items():
        if known == described:
            return name
    name = f"k{len(kernels)}"
    kernels[name] = described
    return name


def check_argument(parameter: KernelParam, value: Any) -> None:
    """Raise the JIT's `TypeError` or `OverflowError` for a value that it refuses.

    Raises `NotRecordable` for a constexpr of NumPy, as most uses of it in a kernel fail.
    """
    if parameter.is_constexpr:
        if isinstance(value, np.generic | np.ndarray) and not isinstance(value, float):
            kind = type(value).__name__
            detail = (
                f"its constexpr {parameter.name!r} is a numpy.{kind}, which Triton refuses nearly "
                f"everywhere: pass int({parameter.name}), float(…) or bool(…)"
            )
            raise NotRecordable("unsupported_launch", detail)
    elif not parameter.annotation_type.startswith(_UNSPECIALIZED):
        _check_specializable(parameter, value)


def _check_specializable(parameter: KernelParam, value: Any) -> None:
    if isinstance(value, tuple):
        try:
            for item in value:
                _check_specializable(parameter, item)
        except TypeError:
            message = "failed to specialize argument of type: tuple"  # Triton's message
            raise TypeError(message) from None
    elif not (isinstance(value, _PASSED_ON) or _stands_for_memory(value)):
        native_specialize_impl(BaseBackend, value, parameter.is_const, True, True)


def _stands_for_memory(value: Any) -> bool:
    """Return True for a wrapped tensor, and for a value that a recording does not have."""
    kind = type(value).__name__
    return kind in ("TensorDescriptor", "TensorWrapper", "OpaqueValue") or hasattr(
        value, "data_ptr"
    )
