"""Finds the jit function to compile in a loaded module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.excerpt import diagnostic
from compiler.making import definition, toolchain
from compiler.making.failure import Failure
from compiler.making.module import Loaded
from compiler.making.suggestions import did_you_mean


def find(
    loaded: Loaded, name: str | None, touched: Mapping[str, Sequence[str]] | None = None
) -> Any:
    """Return the `JITFunction` called `name`, out of any autotuner; without a name the only one.

    `touched` names, by line, what of the kernel's a statement changes. Raises `Failure`:
    `unknown_kernel`, `ambiguous_kernel`, why its definition did not run, or which statement did not
    run that would have changed it.
    """
    definition.check_executed(loaded, touched)
    functions = jit_functions(vars(loaded.module), loaded.module.__name__)
    if name is None:
        return _only(functions, loaded)
    named = unwrap(vars(loaded.module).get(name))
    found = named if isinstance(named, toolchain.JITFunction) else _inner(loaded, name)
    if found is not None:
        return found
    for dropped in loaded.dropped:
        if name in dropped.names:
            raise definition.of_definition(dropped, name, loaded.dropped)
    known = ", ".join(functions) or "none"
    message = f"there is no jit function {name!r} in the source; it has: {known}"
    raise _unknown(message + did_you_mean(name, functions), loaded)


def _inner(loaded: Loaded, name: str) -> Any:
    """Return the jit function of a class (`Class.kernel`), or one that a function made."""
    owner, _, attribute = name.partition(".")
    if attribute:
        found = unwrap(getattr(vars(loaded.module).get(owner), attribute, None))
        return found if isinstance(found, toolchain.JITFunction) else None
    values = jit_functions(vars(loaded.module), loaded.module.__name__).values()
    made = {id(value): value for value in values if value.__name__ == name}
    return next(iter(made.values())) if len(made) == 1 else None


def _unknown(message: str, loaded: Loaded) -> Failure:
    notes = definition.of_assumptions(loaded)
    found = diagnostic("error", "frontend", message)
    return Failure("unknown_kernel", "frontend", message, [found, *notes])


def jit_functions(namespace: dict[str, Any], module: str) -> dict[str, Any]:
    """Return the jit functions of a namespace that `module` defined, by their name there."""
    unwrapped = {name: unwrap(value) for name, value in namespace.items()}
    return {
        name: value
        for name, value in unwrapped.items()
        if isinstance(value, toolchain.JITFunction) and value.module == module
    }


def unwrap(value: Any) -> Any:
    """Follow `.fn` through autotuners and heuristics down to the jit function, if there is one."""
    for _ in range(10):
        if isinstance(value, toolchain.JITFunction):
            break
        held = "fn" if hasattr(type(value), "run") else "__wrapped__"
        inner = vars(value).get(held) if hasattr(value, "__dict__") else None
        if inner is None:
            break
        value = inner
    return value


def _only(functions: dict[str, Any], loaded: Loaded) -> Any:
    called = {
        other.__name__
        for function in functions.values()
        for other in functions.values()
        if other is not function and other.__name__ in function.fn.__code__.co_names
    }
    kernels = {id(value): value for name, value in functions.items() if name not in called}
    if len(kernels) == 1:
        return next(iter(kernels.values()))
    if not kernels:
        raise _unknown("running the source made no @triton.jit function", loaded)
    names = ", ".join(value.__name__ for value in kernels.values())
    message = f"the source has several kernels: {names}. Name one in `kernel`."
    raise Failure("ambiguous_kernel", "frontend", message)
