"""Turns bound arguments into what a kernel takes on the interpreter."""

from __future__ import annotations

from typing import Any

from compiler.launching import interpreter
from compiler.launching.addresses import AddressSpace
from compiler.launching.buffers import leaf_of
from compiler.launching.kernel import is_taken_for_constexpr
from compiler.launching.number import decode
from compiler.making import tagged
from compiler.making.failure import Failure
from compiler.making.module import Loaded


def kernel_values(
    kernel: Any, header: dict[str, Any], space: AddressSpace, loaded: Loaded
) -> dict[str, Any]:
    """Return a value for every bound argument and constexpr of `header`, by parameter.

    Gives every buffer its addresses in `space`. Raises `Failure`.
    """
    constexprs = {
        name: tagged.decode(value, lambda wanted: _function(loaded, wanted))
        for name, value in header["constexprs"].items()
    }
    values = {
        name: _value(name, argument, constexprs, space)
        for name, argument in header["arguments"].items()
        if name not in constexprs
    }
    for name, value in constexprs.items():
        if "." not in name:
            plain = is_taken_for_constexpr(kernel, name)
            values[name] = value if plain else interpreter.constexpr(value)
    return values


def _value(
    path: str, argument: dict[str, Any], constexprs: dict[str, Any], space: AddressSpace
) -> Any:
    if path in constexprs:
        return interpreter.constexpr(constexprs[path])
    match argument["kind"]:
        case "buffer":
            return interpreter.pointer(space.place(leaf_of(path, argument)), argument["dtype"])
        case "scalar":
            return interpreter.scalar(_number(argument), argument["dtype"])
        case "tuple":
            items = enumerate(argument["items"])
            return tuple(_value(f"{path}.{i}", item, constexprs, space) for i, item in items)
        case "descriptor":
            return _descriptor(path, argument, space)
    return None


def _number(argument: dict[str, Any]) -> Any:
    value = decode(argument["value"])
    return value if argument["dtype"].startswith(("fp", "bf")) else int(value)


def _descriptor(path: str, argument: dict[str, Any], space: AddressSpace) -> Any:
    base = leaf_of(path, argument["base"])
    start = interpreter.pointer(space.place(base), base.dtype)
    try:
        return interpreter.descriptor(
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
