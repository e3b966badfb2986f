"""Rewords errors that Triton raises from its own inside into the mistake that caused them.

Each teller looks at the place of the error, and leaves what it does not recognize to others.
"""

import ast
import re
from collections.abc import Callable

from compiler.front.diagnosis import value_errors
from compiler.front.diagnosis.context import Match, RaisedContext, Rewording, source_text

_OF_HOST = {
    "cdiv": "Write tl.cdiv(a, b).",
    "next_power_of_2": "Compute it on the host, and pass it as a tl.constexpr parameter.",
}

Reworder = Callable[[Match, RaisedContext], "Rewording | None"]


def reworded(context: RaisedContext) -> Rewording | None:
    """Return a better telling of an error, `None` where Triton's own is good enough."""
    for pattern, reworder in _REWORDERS:
        match = re.search(pattern, context.message)
        rewording = reworder(match, context) if match is not None else None
        if rewording is not None:
            return rewording
    return None


def _recursion(match: Match, _: RaisedContext) -> Rewording:
    return Rewording(
        f"a jit function cannot call itself: this call leads back into {match[1]}",
        "Use a loop. A recursion can be compiled only where tl.constexpr values end it, with its "
        "call in one branch of an `if` and its end in the other.",
    )


def _too_deep(_: Match, __: RaisedContext) -> Rewording:
    return Rewording(
        "this is nested too deeply to be compiled",
        "Split long expressions and chains of calls into steps with names.",
    )


def _else(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not (isinstance(node, (ast.While, ast.For)) and node.orelse):
        return None
    kind = "while" if isinstance(node, ast.While) else "for"
    return Rewording(
        f"`else` after a `{kind}` is not supported inside a kernel",
        "There is no `break` that could skip it: put its statements after the loop.",
    )


def _endless(_: Match, context: RaisedContext) -> Rewording | None:
    if not isinstance(context.node, ast.While):
        return None
    return Rewording(
        f"`while {source_text(context.node.test)}` is decided at compile time, so the loop could "
        "not end",
        "Test a value that changes while the kernel runs, such as `while n > 0:`; there is no "
        "`break`. For a known number of rounds use `for i in tl.static_range(...)`.",
    )


def _outside(match: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if isinstance(node, ast.Subscript):
        return value_errors.indexed(match, context)
    if not isinstance(node, ast.Call):
        return None
    name = source_text(node.func)
    if str(getattr(context.value_of(node.func), "__module__", "")).startswith("triton.language"):
        return Rewording(
            f"{name} was given a value of the running kernel where it needs a constant",
            "Give it tl.constexpr values there: block shapes, axes, and the last stride of a "
            "descriptor, which is 1.",
        )
    advice = _OF_HOST.get(name.rsplit(".", 1)[-1])
    return Rewording(
        f"{name} runs on the host: it cannot take values of a running kernel",
        advice or "Use a function of triton.language, or one with @triton.jit above it.",
    )


def _loop_over(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not isinstance(node, ast.For):
        return None
    over = node.iter
    advice = "Loop over range(...), tl.range(...) or tl.static_range(...)."
    if isinstance(over, ast.Name) and context.types.get(over.id, "*")[:1] in "iu":
        advice = f"To count to it write `for i in range({over.id}):`. {advice}"
    elif isinstance(over, (ast.Tuple, ast.List)):
        advice = (
            f"Give the tuple a name, and index it in `for i in tl.static_range({len(over.elts)}):`."
        )
    return Rewording(f"a kernel's `for` cannot run over {source_text(over)}", advice)


def _launched_inside(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)):
        return None
    name = source_text(node.func.value)
    return Rewording(
        "a kernel cannot be launched from inside a kernel",
        f"Call it as a function, without a grid: {name}(...).",
    )


def _assigned_at_once(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not (isinstance(node, ast.Assign) and len(node.targets) > 1):
        return None
    names = " = ".join(map(source_text, node.targets))
    return Rewording(
        f"`{names} = ...` assigns several names at once, which is not supported inside a kernel",
        "Assign one name after the other.",
    )


def _combine_function(match: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not (isinstance(node, ast.Call) and source_text(node.func).endswith(("reduce", "scan"))):
        return None
    if "arg_names" in match[0]:
        return Rewording(
            f"{source_text(node.func)} combines with a function that is not Triton's",
            "Write one with @triton.jit above it, that takes two values and returns one.",
        )
    return Rewording(
        f"{source_text(node.func)} cannot use what the function that combines returns",
        "It takes two values for each tensor that is combined, and returns one for each.",
    )


def _several_axes(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not isinstance(node, ast.Call):
        return None
    return Rewording(
        f"{source_text(node.func)} takes one axis, an integer",
        "Reduce one axis after the other, or leave out `axis` to reduce all of them.",
    )


def _greatest(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return None
    name, argument = node.func.id, source_text(node.args[0])
    of_all = "greatest" if name == "max" else "least"
    return Rewording(
        f"{name} compares two or more values",
        f"For the {of_all} element write tl.{name}({argument}).",
    )


def _matrix_product(_: Match, context: RaisedContext) -> Rewording | None:
    node = context.node
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
        return None
    return Rewording(
        "`@` is not supported inside a kernel",
        f"Write tl.dot({source_text(node.left)}, {source_text(node.right)}).",
    )


_REWORDERS: tuple[tuple[str, Reworder], ...] = (
    (r"KeyError: '?[\w.]*?([^\W\d_]\w*?)__", _recursion),
    (r"^RecursionError|maximum recursion depth", _too_deep),
    (r"^Not implemented$|else after for", _else),
    (r"'constexpr' object has no attribute", _endless),
    (value_errors.OUTSIDE, _outside),
    (r"unsupported tensor index", value_errors.indexed),
    (r"index out of range", value_errors.shape_of_pointer),
    (r"__setitem__ is not supported", value_errors.item_assignment),
    (
        r"object '?\w*'? ?has no attribute '(?:scalar|is_\w+|primitive_bitwidth)'",
        value_errors.dtype,
    ),
    (r"^(float|int|bool|complex)\(\) argument must be", value_errors.cast),
    (r"has no len\(\)", value_errors.length),
    (
        r"must be real number, not|a float is required|cannot be interpreted as an integer",
        value_errors.of_math,
    ),
    (r"is not string$", value_errors.prefix),
    (r"^'(\w+)' object has no attribute 'func'", _loop_over),
    (r"object is not callable|^unhashable type: 'tensor'", value_errors.not_callable),
    (r"'(?:int|constexpr)' object is not (?:iterable|subscriptable)", value_errors.shape_needed),
    (r"failed to specialize argument", _launched_inside),
    (r"NoneType", value_errors.none),
    (r"^a check inside Triton failed|^$", _assigned_at_once),
    (r"^a check inside Triton failed|^$|has no attribute 'arg_names'", _combine_function),
    (
        r"'(\w+)' object has no attribute '(?:dtype|type|handle|shape|scalar)'",
        value_errors.no_number,
    ),
    (r"cannot convert <.*> of type (?:[\w.]+\.)?(\w+) to tensor", value_errors.no_number),
    (r"not supported between instances of 'int' and 'tuple'", _several_axes),
    (r"m(?:in|ax) requires at least 2 values", _greatest),
    (r"operator 'MatMult'", _matrix_product),
)
