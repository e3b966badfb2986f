"""Checks that Triton's hash of a cache entry covers everything that the kernel depends on.

The hash is over texts: of the kernel, and of the jit functions that it uses, with the values of
their global `tl.constexpr`. What another name stands for is not in it, so it must be what the
name says, or an entry for one kernel could be found by another.
"""

import ast
import builtins
import sys
import types
from collections.abc import Iterator
from typing import Any

import triton
import triton.language as tl

from compiler.back import triton_api
from compiler.diagnostic import KERNEL_FOLDER, Failure
from compiler.slice.inert_source import CANONICAL

MOST_FUNCTIONS = 1000

_MODULES = frozenset({"math", "copy"})
_LIBDEVICE = frozenset(
    {"triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice"}
    | {"triton.language.extra.hip.libdevice", "triton.language.extra.cuda"}
)


def check_hashed(kernel: Any) -> None:
    """Raise `Failure` (`not_derivable`) where a function uses a name that its hash leaves open."""
    seen, waiting = {id(kernel)}, [kernel]
    while waiting:
        function = waiting.pop()
        for callee in _callees(function, is_kernel=function is kernel):
            if id(callee) not in seen and len(seen) < MOST_FUNCTIONS:
                seen.add(id(callee))
                waiting.append(callee)


def _callees(function: Any, *, is_kernel: bool) -> Iterator[Any]:
    tree = function.parse()
    namespace = function.fn.__globals__
    if function.fn.__closure__:
        raise _refusal(function, "it uses variables of the function that it was defined in")
    if not is_kernel:
        _check_defaults(function, tree.body[0].args)
    for name in sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}):
        if name not in namespace:
            continue
        value = namespace[name]
        if isinstance(value, _callable_kinds()):
            if hasattr(builtins, name):
                raise _refusal(function, f"`{name}` hides what Python calls so")
            yield value
        elif (why := _why_open(name, value)) is not None:
            raise _refusal(function, f"{why}, which Triton's hash leaves open")


def _callable_kinds() -> tuple[type, ...]:
    kinds = (getattr(triton.runtime.jit, name, None) for name in ("JITCallable", "JITFunction"))
    return tuple(kind for kind in kinds if kind is not None)


def _check_defaults(function: Any, arguments: ast.arguments) -> None:
    """Refuse defaults by name: of a function that is called, the hash has their text only."""
    for default in filter(None, (*arguments.defaults, *arguments.kw_defaults)):
        for node in ast.walk(default):
            root = node.value if isinstance(node, ast.Attribute) else None
            if isinstance(root, ast.Name) and root.id in CANONICAL:
                break
            if isinstance(node, (ast.Name, ast.Attribute)):
                why = f"its default `{ast.unparse(default)[:60]}` is not in Triton's hash"
                raise _refusal(function, why)


def _why_open(name: str, value: Any) -> str | None:
    """Return the open part of a name, None if the hash or the name itself settles it."""
    if isinstance(value, tl.constexpr):
        return (
            None if _is_distinguishable(value.value) else f"`{name}` is a constant of an odd value"
        )
    if isinstance(value, types.ModuleType):
        return None if _is_canonical_module(name, value) else f"`{name}` is {value.__name__}"
    gluon = sys.modules.get("triton.experimental.gluon.language", tl)
    named = (vars(module)[name] for module in (tl, triton, builtins, gluon) if name in vars(module))
    if any(value is thing for thing in named):
        return None
    return f"the global `{name}` is no tl.constexpr(...) and not Triton's own `{name}`"


def _is_canonical_module(name: str, module: types.ModuleType) -> bool:
    own = module.__name__
    is_users = str(getattr(module, "__file__", "")).startswith(KERNEL_FOLDER)
    if is_users or sys.modules.get(own) is not module:
        return False
    if name == "libdevice":
        return own in _LIBDEVICE
    return own in CANONICAL.get(name, {name} & _MODULES)


def _is_distinguishable(value: Any) -> bool:
    """Return True if no other value has the same text in a hash: `"1"` and `1` have."""
    if isinstance(value, str):
        names = {"True", "False", "None", "inf", "nan"}
        return value.isidentifier() and value not in names and not hasattr(tl, value)
    return type(value) in (bool, int, float, tl.dtype) or value is None


def _refusal(function: Any, why: str) -> Failure:
    message = (
        f"{function.__name__} (line {triton_api.definition_line(function)}): {why}. Triton's cache "
        "is only told of kernels that its hash names without doubt; export this one as `c`."
    )
    return Failure("not_derivable", "cache_key", message)
