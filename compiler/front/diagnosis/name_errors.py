"""Advice on names: those that are not defined, not allowed, or attributes of nothing."""

import ast
import builtins
import inspect
import sys

import triton.language as tl

from compiler.front.diagnosis import replacements, source_places
from compiler.front.diagnosis.context import Match, RaisedContext
from compiler.front.stubs.torch_stub import Absent
from compiler.rejection import closest

_MAX_LIST = 8


def advice_on_name(name: str, known: set[str]) -> str | None:
    """Return advice for a name that is not defined, `known` being those that are."""
    if name == "tl":
        return "Add `import triton.language as tl` at the top of the source."
    if name == "triton":
        return "Add `import triton` and `import triton.language as tl` at the top of the source."
    meant = closest(name, known)
    if meant is not None and meant != name:
        return f"Did you mean {meant!r}?"
    if name in {"torch", "np", "numpy", "math"}:
        return f"{name} is not imported; inside a kernel use triton.language instead."
    if hasattr(tl, name):
        return f"Did you mean tl.{name}?"
    if name == "type":
        return (
            "Python's type does not exist in kernels; tl.static_print(x.type) shows the type of x."
        )
    if name in {"enumerate", "zip", "reversed", "map", "filter"}:
        return f"Python's {name} does not exist in kernels: loop over range(...) and index."
    if hasattr(builtins, name):
        other = replacements.of_method(name)
        return f"Python's {name} does not exist in kernels. {other or ''}".strip()
    return None


def of_name(match: Match, context: RaisedContext) -> str | None:
    """Return advice for a name that a function uses and nothing defines."""
    tree = context.tree
    known = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known |= {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if match[1] in known:
        return _not_yet(match[1], context)
    return advice_on_name(match[1], known | context.globals.keys())


def _not_yet(name: str, context: RaisedContext) -> str:
    """Return advice for a local name that has no value where it is used."""
    first = next(iter(source_places.assignments(context.tree, name)), None)
    line = getattr(context.node, "lineno", 0)
    if isinstance(first, ast.AugAssign) and first.lineno == line:
        return f"{name} is added to before it has a value: start it above, such as `{name} = 0.0`."
    if first is not None and getattr(first, "lineno", 0) >= line:
        return f"{name} only gets a value below: assign to it before it is used."
    return (
        f"{name} only gets a value inside an `if` or a loop, which may not run: give it one of "
        "the same type before."
    )


def of_global(match: Match, context: RaisedContext) -> str:
    """Return advice for a global variable that kernels may not read."""
    name = match[1]
    value = context.globals.get(name)
    if inspect.isfunction(value):
        return (
            f"{name} is a plain Python function: put @triton.jit above it "
            "(or @triton.constexpr_function if it only computes with constants)."
        )
    if isinstance(value, (int, float, str, bool, tuple)):
        return f"Write `{name} = tl.constexpr({value!r})`, or pass it as a tl.constexpr parameter."
    if isinstance(value, Absent):
        file = value.__name__.replace(".", "/") + ".py"
        library = value.__name__.partition(".")[0]
        return (
            f"{name} is {value.__name__}, and {library} is not installed here. If it is a module, "
            f'post its file in `files` as "{file}".'
        )
    if isinstance(value, list) and len(value) <= _MAX_LIST and all(map(_is_plain, value)):
        return f"Write `{name} = tl.constexpr({tuple(value)!r})`, or pass it as a parameter."
    return f"Pass {name} as a parameter, or make it a tl.constexpr if it is a constant."


def _is_plain(value: object) -> bool:
    return isinstance(value, (bool, int, float, str))


def of_host_function(match: Match, _: RaisedContext) -> str:
    """Return advice for a function of the host's libraries that a kernel calls."""
    name = match[1].rsplit(".", 1)[-1]
    if hasattr(tl, name):
        return f"Use tl.{name} instead."
    return "Kernels compute with triton.language: tl.exp, tl.sqrt, tl.sum and so on."


def of_module_attribute(match: Match, context: RaisedContext) -> str | None:
    """Return advice for `tl.` and a name that is not there."""
    module, name = match[1], match[2]
    owner = ast.unparse(context.node.value) if isinstance(context.node, ast.Attribute) else module
    known = (
        replacements.of_name(name)
        if module in {"triton.language", "triton.language.math"}
        else None
    )
    if known is not None:
        return known
    gone = (
        replacements.advice(name) if module in {"triton.language", "triton.language.math"} else None
    )
    if gone is not None:
        return gone
    meant = closest(name, dir(sys.modules[module])) if module in sys.modules else None
    if meant is not None:
        return f"Did you mean {owner}.{meant}?"
    if module == "triton.language" and hasattr(tl.tensor, name):
        return f"{name} is a method of tensors: write x.{name}(...)."
    return f"This version of Triton has no {owner}.{name}."


def of_object_attribute(match: Match, context: RaisedContext) -> str | None:
    """Return advice for a method that tensors, tuples or syntax nodes do not have."""
    kind, name = match[1], match[2]
    if kind in {"tuple", "list"}:
        words = [node.id for node in ast.walk(context.node) if isinstance(node, ast.Name)]
        passed = next((word for word in words if isinstance(context.types.get(word), tuple)), None)
        if passed is not None and (name == "dtype" or hasattr(tl.tensor, name)):
            return (
                f"In `arguments`, give {passed} a buffer instead of a list (in `signature`, a "
                "pointer instead of a tuple)."
            )
        return (
            "A list in a kernel is a compile-time tuple: it cannot be appended to or changed. "
            "Use a tensor, or write to memory with tl.store."
        )
    if kind in {"Name", "Call", "Subscript", "List", "Tuple", "Attribute"} and name == "func":
        return "A kernel's `for` runs over range(...), tl.range(...) or tl.static_range(...) only."
    if kind == "tensor":
        if (known := replacements.of_method(name)) is not None:
            return known
        meant = closest(name, [*dir(tl.tensor), "dtype", "numel", "shape", "type"])
        if meant is not None:
            return f"Did you mean .{meant}?"
        if hasattr(tl, name):
            return f"Write tl.{name}(...)."
    return None
