"""What to do about a front-end error: one line of advice for the mistakes people really make."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from compiler.making import moved, naming
from compiler.making.advice import ADVICE
from compiler.making.constructs import CONSTRUCTS
from compiler.making.context import Advice, Context, Match
from compiler.making.places import first_assignment
from compiler.making.suggestions import closest


def hint(context: Context) -> str | None:
    """Return advice for an error, or `None` if nothing better than its message can be said."""
    for pattern, advice in _COMPUTED:
        match = re.search(pattern, context.message)
        if match is not None:
            return advice(match, context)
    return next((text for pattern, text in ADVICE if re.search(pattern, context.message)), None)


def _constexpr_needed(_: Match, context: Context) -> str:
    for name in _names_in(context.node):
        value = context.values.get(name)
        if isinstance(value, float) and value.is_integer():
            return f"{name} is {value}, a float; sizes are integers: give it as {int(value)}."
    plain = [name for name in _names_in(context.node) if name in context.types]
    if plain:
        return (
            f"Annotate the parameter: `{plain[0]}: tl.constexpr`; its value goes to `constexprs`."
        )
    return (
        "Shapes must be known at compile time: annotate the parameter they come from "
        "as tl.constexpr."
    )


def _power_of_two(_: Match, context: Context) -> str:
    for size in _sizes_in(context):
        if size > 0 and size & (size - 1):
            better = 1 << size.bit_length()
            return f"Use {better} (triton.next_power_of_2({size})) and mask what is past {size}."
    return "Round up with triton.next_power_of_2 and mask what is past the end."


def _signature(_: Match, context: Context) -> str | None:
    node = context.node
    if not isinstance(node, ast.Call):
        return None
    called = _resolve(node.func, context)
    target = getattr(called, "fn", called)
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    shown = [str(p) for p in parameters if not p.name.startswith("_")]
    return f"It is called as {ast.unparse(node.func)}({', '.join(shown)})."


def _keyword(match: Match, context: Context) -> str | None:
    node = context.node
    called = _resolve(node.func, context) if isinstance(node, ast.Call) else None
    target = getattr(called, "fn", called)
    if target is None:
        return None
    if (gone := moved.advice(match[1])) is not None:
        return gone
    try:
        names = [name for name in inspect.signature(target).parameters if not name.startswith("_")]
    except (TypeError, ValueError):
        return None
    meant = closest(match[1], names)
    return f"Did you mean {meant!r}?" if meant else f"It takes: {', '.join(names)}."


def _carried(match: Match, context: Context) -> str:
    name, wanted = match[1], match[3]
    first = first_assignment(context.tree, name, before=getattr(context.node, "lineno", 0))
    value = getattr(first, "value", None)
    start = "0"
    if isinstance(value, (ast.Constant, ast.UnaryOp)) and context.function is not None:
        start = ast.get_source_segment(context.function.src, value) or start
    return f"Start it with the type it gets in the loop: `{name} = {_made(wanted, start)}`."


def _made(wanted: str, start: str) -> str:
    """Return an expression for a value of the type `wanted` ("fp32[64]") that starts as `start`."""
    element, _, shape = wanted.rstrip("]").partition("[")
    dtype = "tl." + {
        "fp16": "float16",
        "bf16": "bfloat16",
        "fp32": "float32",
        "fp64": "float64",
    }.get(element, element)
    extents = f"({shape},)" if shape and "," not in shape else f"({shape})"
    return f"tl.full({extents if shape else '()'}, {start}, {dtype})"


def _branch(match: Match, _: Context) -> str:
    name, wanted = match[1], match[3]
    return (
        f"Both ways through the `if` must leave the same type: start with "
        f"`{name} = {_made(wanted, '0')}`, or convert with `.to(...)`."
    )


def _construct(match: Match, _: Context) -> str | None:
    return CONSTRUCTS[match[1]][1] if match[1] in CONSTRUCTS else None


def _pointer(_: Match, context: Context) -> str:
    for name in _names_in(context.node):
        kind = context.types.get(name)
        if isinstance(kind, str) and not kind.startswith("*"):
            return f'The signature gives {name} the type "{kind}"; a pointer is written "*{kind}".'
    return 'The address is no pointer: is it made from a parameter with a type such as "*fp32"?'


def _host_value(match: Match, context: Context) -> str | None:
    if match[1] == "tensor" and isinstance(context.node, ast.AST):
        return (
            "A tensor is being called like a function or used as a key: "
            "is a comma or an operator missing between two parentheses?"
        )
    return None


def _names_in(node: ast.AST) -> list[str]:
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]


def _sizes_in(context: Context) -> list[int]:
    found = [context.values[n] for n in _names_in(context.node) if n in context.values]
    found += [n.value for n in ast.walk(context.node) if isinstance(n, ast.Constant)]
    return [size for size in found if isinstance(size, int) and not isinstance(size, bool)]


def _resolve(node: ast.expr, context: Context) -> Any:
    if isinstance(node, ast.Name):
        return context.globals.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_resolve(node.value, context), node.attr, None)
    return None


_COMPUTED: tuple[tuple[str, Advice], ...] = (
    (
        r"^([\w.]+) cannot be used inside a kernel",
        naming.of_host_function,
    ),
    (
        r"^(\w+) is not defined",
        naming.of_name,
    ),
    (
        r"reads the global variable '(\w+)'",
        naming.of_global,
    ),
    (
        r"module '([\w.]+)' has no attribute '(\w+)'",
        naming.of_module_attribute,
    ),
    (
        r"^'(\w+)' object has no attribute '?(\w+)'?",
        naming.of_object_attribute,
    ),
    (
        r"unexpected keyword argument '(\w+)'",
        _keyword,
    ),
    (
        r"missing .*required .*argument|too many positional arguments|"
        r"takes .* positional argument",
        _signature,
    ),
    (
        r"must be of type tl\.constexpr|must have type `constexpr|not a constexpr",
        _constexpr_needed,
    ),
    (
        r"must be a power of 2",
        _power_of_two,
    ),
    (
        r"Loop-carried variable (\w+) has initial type (.+?) but is re-assigned to (.+?) in loop",
        _carried,
    ),
    (
        r"initial value for `(\w+)` is of type (.+?), but the (?:then|"
        r"else) block redefines it as (.+)$",
        _branch,
    ),
    (
        r"Mismatched type for (\w+) between then block \((.+?)\) and else block \((.+?)\)",
        _branch,
    ),
    (
        r"unsupported AST node type: (\w+)",
        _construct,
    ),
    (
        r"`(?:break|try|raise|lambda)",
        _construct,
    ),
    (
        r"unhashable type: '(\w+)'",
        _host_value,
    ),
    (
        r"Unsupported ptr type|Unsupported pointer type|base must be a pointer",
        _pointer,
    ),
)
