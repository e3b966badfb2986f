"""Completes a compile request from annotations and autotune configurations of the source.

Nothing is guessed from names. For values that neither the source nor `userArguments` give, the
answer lists the flags to add.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapters.compiler_explorer.user_arguments import UserArguments
from compiler.inspection import InspectedKernel, InspectedParameter, Inspection

_TYPE = re.compile(
    r"[\"']?(\*?k?(?:i1|[iu](?:8|16|32|64)|u1|bf16|fp(?:8\w{0,12}|16|32|64))(?::16)?)[\"']?"
)


@dataclass(frozen=True)
class InferredRequest:
    """Members of a compile request, notes about them, and missing flags."""

    members: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Required flags, such as `--signature x_ptr=TYPE`."""
    line: int | None = None
    """The line of the kernel with these parameters."""


def infer(arguments: UserArguments, inspection: Inspection) -> InferredRequest:
    """Return the values in `arguments` for a kernel, completed from the source."""
    kernel = _chosen(arguments.kernel, inspection)
    if kernel is None or arguments.signature_by_position is not None:
        return InferredRequest(_members(arguments, {}, {}, {}))
    types = {
        parameter.name: kind
        for parameter in kernel.parameters
        if not _is_given(arguments, parameter.name) and (kind := _annotated(parameter))
    }
    constexprs, options = _first_configuration(arguments, kernel)
    inferred = [f"{name}: {kind}, from its annotation" for name, kind in types.items()]
    if constexprs or options:
        values = ", ".join(f"{name}={value}" for name, value in {**constexprs, **options}.items())
        inferred.append(f"{values}: the first of {len(kernel.configs)} autotune configurations")
    missing = [
        _flag(parameter)
        for parameter in kernel.parameters
        if parameter.default is None
        and parameter.name not in types
        and parameter.name not in constexprs
        and not _is_given(arguments, parameter.name)
    ]
    members = _members(arguments, types, constexprs, options)
    return InferredRequest(members, tuple(inferred), tuple(missing), kernel.line)


def _chosen(named: str | None, inspection: Inspection) -> InspectedKernel | None:
    """Return the kernel that a compilation chooses, None if compiling will report the error."""
    called = {name for kernel in inspection.kernels for name in kernel.calls}
    fitting = [
        kernel
        for kernel in inspection.kernels
        if (kernel.name == named if named else kernel.name not in called)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _members(
    arguments: UserArguments,
    types: Mapping[str, str],
    constexprs: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    signature: Any = {**types, **arguments.signature}
    if arguments.signature_by_position is not None:
        signature = arguments.signature_by_position
    every = {
        "kernel": arguments.kernel,
        "signature": signature,
        "constexprs": {**constexprs, **arguments.constexprs},
        "options": {**options, **arguments.options},
    }
    return {name: value for name, value in every.items() if value}


def _is_given(arguments: UserArguments, name: str) -> bool:
    return name in arguments.signature or name in arguments.constexprs


def _annotated(parameter: InspectedParameter) -> str | None:
    match = _TYPE.fullmatch(parameter.annotation or "")
    return match[1] if match and not parameter.constexpr else None


def _first_configuration(
    arguments: UserArguments, kernel: InspectedKernel
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return constexprs and options of the first readable autotune configuration."""
    first = kernel.configs[0] if kernel.configs else {}
    constexprs = {
        name: value["literal"]
        for name, value in first.get("constexprs", {}).items()
        if "literal" in value and not _is_given(arguments, name)
    }
    options = {
        name: value["literal"]
        for name, value in first.get("options", {}).items()
        if "literal" in value and name not in arguments.options and value["literal"] is not None
    }
    return constexprs, options


def _flag(parameter: InspectedParameter) -> str:
    if parameter.constexpr:
        return f"--constexpr {parameter.name}=VALUE"
    return f"--signature {parameter.name}=TYPE"
