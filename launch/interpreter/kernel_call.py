"""Finds the kernel of a loaded source, and turns bound arguments into what it is called with."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.back import triton_api
from compiler.diagnostic import Failure
from compiler.front import ast_source
from compiler.front.diagnosis import module_errors
from compiler.front.module import Loaded
from compiler.json_number import read_number
from compiler.rejection import suggestion
from launch.buffers.allocation import leaf_of
from launch.checks.addresses import AddressSpace
from launch.interpreter import triton_interpreter
from launch.interpreter.triton_interpreter import InterpretedFunction
from launch.messages import InterpretOrder

_DEEPEST_WRAPPING = 10


def find(loaded: Loaded, name: str, touched: Mapping[str, Sequence[str]] | None = None) -> Any:
    """Return the kernel called `name`, out of any autotuner.

    `touched` names, by line, what of the kernel's a statement changes. Raises `Failure`:
    `unknown_kernel`, or which statement did not run that it needs.
    """
    module_errors.check_executed(loaded, touched)
    found = _unwrapped(vars(loaded.module).get(name))
    if isinstance(found, InterpretedFunction):
        module_errors.check_certain(loaded, found, name)
        return found
    if isinstance(found, triton_api.JITFunction):
        message = (
            f"{name} is a Gluon kernel, and only Triton kernels run on the CPU interpreter: launch "
            "it on a device with a GPU"
        )
        raise Failure("needs_gpu", "frontend", message)
    for dropped in loaded.dropped:
        if name in dropped.names:
            raise module_errors.of_definition(dropped, name, loaded.dropped)
    module = vars(loaded.module)
    known = [key for key, value in module.items() if _is_kernel(value, loaded.module.__name__)]
    message = f"there is no kernel {name!r} in the source; it has: {', '.join(known) or 'none'}"
    raise Failure("unknown_kernel", "frontend", message + suggestion(name, known))


def _unwrapped(value: Any) -> Any:
    for _ in range(_DEEPEST_WRAPPING):
        if isinstance(value, (InterpretedFunction, triton_api.JITFunction)):
            break
        value = getattr(value, "fn", None)
    return value


def _is_kernel(value: Any, module: str) -> bool:
    return isinstance(value, InterpretedFunction) and value.fn.__module__ == module


def ordered(kernel: Any, values: Mapping[str, Any]) -> list[Any]:
    """Return one value for every parameter, defaults where `values` has none.

    Raises `Failure`: `missing_constexpr`, `extra_argument`.
    """
    parameters = inspect.signature(kernel.fn).parameters
    for name in values:
        if name not in parameters:
            message = (
                f"{kernel.__name__} has no parameter {name!r}; it has: {', '.join(parameters)}"
            )
            raise Failure("extra_argument", "frontend", message + suggestion(name, parameters))
    return [
        values[name] if name in values else _default(kernel.__name__, parameter)
        for name, parameter in parameters.items()
    ]


def _default(kernel: str, parameter: inspect.Parameter) -> Any:
    if parameter.default is inspect.Parameter.empty:
        message = f"{kernel}: the parameter {parameter.name!r} has no value: give it one"
        raise Failure("missing_constexpr", "frontend", message)
    return parameter.default


def is_taken_for_constexpr(kernel: Any, name: str) -> bool:
    """Whether the interpreter itself takes a value for a constexpr: it is given as plain Python.

    It reads the text of annotations, and so knows no other name of `tl.constexpr`.
    """
    annotation = inspect.get_annotations(kernel.rewrite()).get(name)
    return annotation is not None and triton_api.normalized_annotation(annotation) == "constexpr"


def kernel_values(
    kernel: Any, order: InterpretOrder, space: AddressSpace, loaded: Loaded
) -> dict[str, Any]:
    """Return a value for every bound argument and constexpr of `order`, by parameter.

    Gives every buffer its addresses in `space`. Raises `Failure`.
    """
    constexprs = {
        name: ast_source.decode(value, lambda wanted: _function(loaded, wanted))
        for name, value in order.constexprs.items()
    }
    values = {
        name: _value(name, argument, constexprs, space)
        for name, argument in order.arguments.items()
        if name not in constexprs
    }
    for name, value in constexprs.items():
        if "." not in name:
            plain = is_taken_for_constexpr(kernel, name)
            values[name] = value if plain else triton_interpreter.constexpr(value)
    return values


def _value(
    path: str, argument: dict[str, Any], constexprs: dict[str, Any], space: AddressSpace
) -> Any:
    if path in constexprs:
        return triton_interpreter.constexpr(constexprs[path])
    match argument["kind"]:
        case "buffer":
            return triton_interpreter.pointer(
                space.place(leaf_of(path, argument)), argument["dtype"]
            )
        case "scalar":
            return triton_interpreter.scalar(_number(argument), argument["dtype"])
        case "tuple":
            items = enumerate(argument["items"])
            return tuple(_value(f"{path}.{i}", item, constexprs, space) for i, item in items)
        case "descriptor":
            return _descriptor(path, argument, space)
    return None


def _number(argument: dict[str, Any]) -> Any:
    value = read_number(argument["value"])
    return value if argument["dtype"].startswith(("fp", "bf")) else int(value)


def _descriptor(path: str, argument: dict[str, Any], space: AddressSpace) -> Any:
    base = leaf_of(path, argument["base"])
    start = triton_interpreter.pointer(space.place(base), base.dtype)
    try:
        return triton_interpreter.descriptor(
            start, base.shape, base.strides, argument["block_shape"], argument["padding"]
        )
    except (AssertionError, ValueError, TypeError) as error:
        message = f"{path}: no tensor descriptor can be made of this buffer: {error}"
        raise Failure("invalid_descriptor", "frontend", message) from error


def _function(loaded: Loaded, name: str) -> Any:
    found = vars(loaded.module).get(name)
    if found is None:
        message = f"a constexpr names the function {name!r}, which the source does not define"
        raise Failure("compile_error", "frontend", message)
    return found
