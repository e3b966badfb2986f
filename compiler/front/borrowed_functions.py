"""Functions of missing modules that Triton has too, by the name that the kernel calls.

`from pkg.ops import exp2`, without a file for `pkg.ops`, most likely means Triton's own `exp2`, or
a thin wrapper around it. The kernel is compiled with Triton's; the answer warns of it, and names
the module, whose file decides.
"""

import ast
import builtins
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton.language.core import is_builtin
from triton.language.extra import libdevice

from compiler.back import triton_api
from compiler.diagnostic import USER_FILE, Assumption, Failure, file_in_kernel
from compiler.front.code_reach import MAX_REACHED, reach_of_value
from compiler.front.diagnosis import module_errors
from compiler.front.dropped_statements import DroppedStatement, modules_lacked
from compiler.front.module import Loaded

_PREFIXES = ("triton_", "tl_")
"""Usual beginnings of the names of wrappers, before the name of the function of Triton."""


@dataclass(frozen=True)
class BorrowedFunction:
    """A name that kernels use, the function or module of Triton's that it is taken to be, and why.

    `modules` are those to post instead.
    """

    name: str
    value: Any
    modules: Sequence[str]
    assumption: Assumption


def borrow(loaded: Loaded, kernel: Any) -> list[BorrowedFunction]:
    """Bind names that a kernel lacks for want of a module to Triton's functions of these names."""
    borrowed: dict[tuple[str, str], BorrowedFunction] = {}
    for function in _functions(kernel):
        namespace = function.fn.__globals__
        path = function.fn.__code__.co_filename
        for name, attributes in _names_lacked(function, namespace).items():
            value = _of_triton(name) if attributes is None else _module_with(attributes)
            cause = _cause(loaded, name, path) if value is not None else None
            modules = modules_lacked(cause, loaded.dropped) if cause is not None else []
            if cause is None or not modules:
                continue
            borrowed[path, name] = _borrowed(name, value, modules, cause)
            namespace[name] = value
    return list(borrowed.values())


@contextmanager
def doubting(borrowed: Sequence[BorrowedFunction], loaded: Loaded) -> Iterator[None]:
    """Have a `Failure` of the block name the modules whose functions were taken from Triton."""
    try:
        yield
    except Failure as failure:
        if not borrowed:
            raise
        modules = list(dict.fromkeys(m for each in borrowed for m in each.modules))
        names = ", ".join(each.name for each in borrowed)
        message = (
            f"the kernel needs {' and '.join(modules)}, which is missing. With Triton's own "
            f"{names} instead: {failure.message}"
        )
        warned = module_errors.of_assumptions(loaded, [each.assumption for each in borrowed])
        missing = Failure("missing_module", failure.stage, message, [*failure.diagnostics, *warned])
        missing.needs = list(dict.fromkeys([*failure.needs, *modules]))
        raise missing from failure


def _functions(kernel: Any) -> Iterator[Any]:
    """Yield a kernel and the user's jit functions that it may call, as far as they are Triton's."""
    reached = reach_of_value(kernel, MAX_REACHED).objects.values()
    seen: set[int] = set()
    for value in (kernel, *reached):
        if not isinstance(value, triton_api.JITFunction) or id(value) in seen:
            continue
        seen.add(id(value))
        is_users = file_in_kernel(value.fn.__code__.co_filename) is not None
        if is_users and triton_api.language_of(value).has_ttir:
            yield value


def _names_lacked(function: Any, namespace: dict[str, Any]) -> dict[str, set[str] | None]:
    """Return the names that nothing binds: with the attributes that are read of it, if only these.

    A name that is used by itself has None.
    """
    definition = function.parse().body[0]
    # defaults were evaluated already
    nodes = [node for statement in definition.body for node in ast.walk(statement)]
    own = {node.arg for node in ast.walk(definition.args) if isinstance(node, ast.arg)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {node.id for node in nodes if isinstance(node, ast.Name) and _binds(node)}
    owners = {id(node.value): node.attr for node in nodes if isinstance(node, ast.Attribute)}
    lacked: dict[str, set[str] | None] = {}
    for node in nodes:
        if not isinstance(node, ast.Name) or node.id in own or node.id in namespace:
            continue
        attribute = owners.get(id(node))
        known = lacked.setdefault(node.id, set() if attribute is not None else None)
        if attribute is None or known is None:
            lacked[node.id] = None
        else:
            known.add(attribute)
    return lacked


def _binds(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _of_triton(name: str) -> Any:
    """Return Triton's function for kernels that has a name, with or without a usual prefix."""
    bare = next((name.removeprefix(p) for p in _PREFIXES if name.startswith(p)), name)
    values = [vars(module).get(each) for each in (name, bare) for module in (tl, libdevice)]
    return next((value for value in values if _is_for_kernels(value)), None)


def _is_for_kernels(value: Any) -> bool:
    if isinstance(value, triton_api.JITFunction):
        return True
    is_of_device = getattr(value, "__module__", None) == libdevice.__name__
    return isinstance(value, types.FunctionType) and (is_builtin(value) or is_of_device)


def _module_with(attributes: set[str]) -> types.ModuleType | None:
    """Return Triton's module that has functions of all these names, None if none has."""
    modules: tuple[types.ModuleType, ...] = (tl, libdevice)
    for module in modules:
        if all(_is_for_kernels(vars(module).get(name)) for name in attributes):
            return module
    return None


def _cause(loaded: Loaded, name: str, path: str) -> DroppedStatement | None:
    """Return the statement left out that would have bound a name of a file."""
    there = [each for each in loaded.dropped if each.path == path]
    named = next((each for each in there if name in each.names), None)
    if named is not None or hasattr(builtins, name):
        return named
    return next((each for each in there if "*" in each.names), None)


def _borrowed(
    name: str, value: Any, modules: Sequence[str], cause: DroppedStatement
) -> BorrowedFunction:
    owner = value.__name__ if isinstance(value, types.ModuleType) else _place(value)
    message = f"{name} is taken to be {owner}: {' or '.join(modules)} is missing"
    file = file_in_kernel(cause.path) or USER_FILE
    return BorrowedFunction(name, value, modules, Assumption(file, cause.line, message))


def _place(function: Any) -> str:
    module = libdevice if function in vars(libdevice).values() else tl
    return f"{module.__name__}.{function.__name__}"
