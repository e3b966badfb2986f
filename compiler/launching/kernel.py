"""The kernel of a loaded source: finds it, and puts its arguments in order."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.launching.interpreter import InterpretedFunction
from compiler.making import definition, toolchain
from compiler.making.failure import Failure
from compiler.making.module import Loaded
from compiler.making.suggestions import did_you_mean

_DEEPEST_WRAPPING = 10


def find(loaded: Loaded, name: str, touched: Mapping[str, Sequence[str]] | None = None) -> Any:
    """Return the kernel called `name`, out of any autotuner.

    `touched` names, by line, what of the kernel's a statement changes. Raises `Failure`:
    `unknown_kernel`, or which statement did not run that it needs.
    """
    definition.check_executed(loaded, touched)
    found = _unwrapped(vars(loaded.module).get(name))
    if isinstance(found, InterpretedFunction):
        return found
    if isinstance(found, toolchain.JITFunction):
        message = (
            f"{name} is a Gluon kernel, and only Triton kernels run on the CPU interpreter: launch "
            "it on a device with a GPU"
        )
        raise Failure("needs_gpu", "frontend", message)
    for dropped in loaded.dropped:
        if name in dropped.names:
            raise definition.of_definition(dropped, name, loaded.dropped)
    module = vars(loaded.module)
    known = [key for key, value in module.items() if _is_kernel(value, loaded.module.__name__)]
    message = f"there is no kernel {name!r} in the source; it has: {', '.join(known) or 'none'}"
    raise Failure("unknown_kernel", "frontend", message + did_you_mean(name, known))


def _unwrapped(value: Any) -> Any:
    for _ in range(_DEEPEST_WRAPPING):
        if isinstance(value, (InterpretedFunction, toolchain.JITFunction)):
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
            raise Failure("extra_argument", "frontend", message + did_you_mean(name, parameters))
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
    return annotation is not None and toolchain.normalized_annotation(annotation) == "constexpr"
