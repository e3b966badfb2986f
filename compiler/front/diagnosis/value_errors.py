"""Explains values of the wrong kind: pointers, dtypes, None or host numbers used as tensors.

Each function looks at the place of an error, and returns `None` for what it does not recognize.
"""

import ast
import re
from typing import Any

import triton.language as tl

from compiler.back.triton_api import JITFunction
from compiler.front.diagnosis import replacements
from compiler.front.diagnosis.context import Match, RaisedContext, Rewording, source_text

OUTSIDE = r"Did you forget to add @triton.jit|`_(?:semantic|builder|generator)` argument must be"
"""Triton's message when its builtins are called outside of a kernel."""
_OF_FUNCTIONS = {
    "JITFunction": "Call it.",
    "function": "Put @triton.jit above it and call it, or pass its value as a parameter.",
    "builtin_function_or_method": "It runs on the host: pass its value as a parameter.",
}


def indexed(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `x_ptr[i]` and `x[i]`."""
    node = context.node
    if not isinstance(node, ast.Subscript):
        return None
    base, index = source_text(node.value), source_text(node.slice)
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return Rewording(
            f"{base} is not a dictionary: it cannot be indexed with {index}",
            "Give the kernel a parameter for each value, as tl.constexpr where it is a constant.",
        )
    if _is_pointer(node.value, context):
        address = f"{base} + {index}" if not isinstance(node.slice, ast.Tuple) else "address"
        return Rewording(
            f"{base} is a pointer, which cannot be indexed",
            f"Read with tl.load({address}), write with tl.store({address}, value).",
        )
    if re.search(OUTSIDE, context.message) is None:
        return None
    return Rewording(
        f"the tensor {base} cannot be indexed with {index}",
        "Indices are None and : only, which add dimensions. Pick elements with tl.gather(x, "
        "index, axis) or masks (tl.where), or load them by their addresses.",
    )


def shape_of_pointer(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `x_ptr.shape[0]`."""
    node = context.node
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        owner = node.value.value
        if _is_pointer(owner, context):
            return Rewording(
                f"{source_text(owner)} is a pointer, which has no shape",
                "Pass the sizes as parameters of the kernel.",
            )
    return None


def item_assignment(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `x_ptr[i] = 1.0`."""
    targets = getattr(context.node, "targets", [])
    target = targets[0] if targets else getattr(context.node, "target", None)
    if not (isinstance(target, ast.Subscript) and _is_pointer(target.value, context)):
        return None
    base, index = source_text(target.value), source_text(target.slice)
    return Rewording(
        f"{base} is a pointer, whose elements cannot be assigned to",
        f"Write with tl.store({base} + {index}, value).",
    )


def dtype(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `x.to('float32')`, `x.to(torch.float16)` and strings in constexprs."""
    node = context.node
    if not isinstance(node, ast.Call):
        return None
    for argument in [*(keyword.value for keyword in node.keywords), *reversed(node.args)]:
        wanted = _no_dtype(argument, context)
        if wanted is None:
            continue
        shown, name = source_text(argument), replacements.dtype(wanted)
        if isinstance(argument, ast.Name) and argument.id in context.values:
            message = f'{shown} is "{wanted}", a string, not a dtype'
            name = name or "float32"
            hint = (
                f'Give it as {{"dtype": "{name}"}} in `constexprs`; '
                f"on the command line {shown}=tl.{name}."
            )
            return Rewording(message, hint)
        return Rewording(
            f"{shown} is not one of Triton's dtypes", f"Write tl.{name or 'float32'} or the like."
        )
    return None


def _no_dtype(argument: ast.expr, context: RaisedContext) -> str | None:
    """Return what an argument that should be a dtype is called, `None` if it may well be one."""
    value = context.value_of(argument)
    value = getattr(value, "value", value)
    if isinstance(value, str) or (value is not None and type(value).__module__ == "torch"):
        return str(value) if isinstance(value, str) else source_text(argument)
    if isinstance(argument, ast.Name) and argument.id in {"float", "int", "bool"}:
        return argument.id
    if isinstance(argument, ast.Attribute) and source_text(argument).startswith(("torch.", "np.")):
        return argument.attr
    return None


def cast(match: Match, context: RaisedContext) -> Rewording | None:
    """Explain `float(x)`."""
    node = context.node
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return None
    kind = replacements.dtype(node.func.id) or "float32"
    return Rewording(
        f"{match[1]}() makes numbers of the host, not of a running kernel",
        f"Write {_operand(node.args[0])}.to(tl.{kind}).",
    )


def length(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `len(x)`."""
    node = context.node
    if not (isinstance(node, ast.Call) and node.args):
        return None
    if _is_pointer(node.args[0], context):
        return Rewording(
            f"{source_text(node.args[0])} is a pointer, which has no length",
            "Pass the number of elements as a parameter of the kernel.",
        )
    return Rewording("a tensor has no len()", f"Write {_operand(node.args[0])}.shape[0].")


def of_math(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `math.exp(x)`."""
    node = context.node
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    name = node.func.attr
    arguments = ", ".join(map(source_text, node.args))
    if hasattr(tl, name):
        advice = (
            f"Write tl.{name}({arguments}); it takes floats: convert integers with .to(tl.float32)."
        )
    else:
        advice = replacements.of_name(name) or (
            "`from triton.language.extra import libdevice` and call "
            f"libdevice.{name}({arguments}), if it is there."
        )
    return Rewording(f"{source_text(node.func)} runs on the host: it takes no tensors", advice)


def prefix(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `print(x)`."""
    node = context.node
    if not (isinstance(node, ast.Call) and node.args):
        return None
    name, values = source_text(node.func), ", ".join(map(source_text, node.args))
    return Rewording(
        f"the first argument of {name} is the text to print before the values",
        f'Write {name}("{source_text(node.args[0])}: ", {values}).'.replace('""', '"'),
    )


def not_callable(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `x.numel()` and calls of a call's result."""
    node = context.node
    if not isinstance(node, ast.Call):
        return None
    called = source_text(node.func)
    if isinstance(node.func, ast.Attribute) and _is_pointer(node.func.value, context):
        return Rewording(
            f"{source_text(node.func.value)} is a pointer, which has no {node.func.attr}",
            "Pass the sizes as parameters of the kernel.",
        )
    if isinstance(node.func, ast.Attribute):
        if isinstance(getattr(tl, node.func.attr, None), tl.dtype) and len(node.args) == 1:
            return Rewording(
                f"{called} is a type and cannot be called",
                f"Write tl.cast({source_text(node.args[0])}, {called}).",
            )
        return Rewording(
            f"{called} is a value and cannot be called", f"Leave out the parentheses: {called}."
        )
    return Rewording(
        f"{called} is called like a function",
        "Is a comma or an operator missing before the parenthesis?",
    )


def shape_needed(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain `tl.zeros(BLOCK, ...)`."""
    node = context.node
    if not (isinstance(node, ast.Call) and source_text(node.func).startswith("tl.")):
        return None
    shapes = [k.value for k in node.keywords if k.arg == "shape"] or node.args[:1]
    if not shapes:
        return None
    return Rewording(
        f"the shape is a tuple, and {source_text(shapes[0])} is a number",
        f"Write ({source_text(shapes[0])},) with a comma.",
    )


def none(_: Match, context: RaisedContext) -> Rewording | None:
    """Explain parameters that are None, and functions that return nothing."""
    if isinstance(context.node, ast.Compare) and isinstance(
        context.node.ops[0], ast.Eq | ast.NotEq
    ):
        return Rewording(
            "a tensor is compared with None by value",
            f"Write `{source_text(context.node.left)} is None`, which is decided at compile time.",
        )
    for inner in ast.walk(context.node):
        if isinstance(inner, ast.Name) and context.values.get(inner.id, 0) is None:
            return Rewording(
                f"{inner.id} is None here (null in `constexprs`)",
                f"Give it a type in `signature`, or guard this with `if {inner.id} is not None:`, "
                "which is decided at compile time.",
            )
        if isinstance(inner, ast.Call) and isinstance(context.value_of(inner.func), JITFunction):
            return Rewording(
                f"{source_text(inner.func)}(...) gives no value: it returns None",
                f"End {source_text(inner.func)} with `return <value>`.",
            )
    return None


def no_number(match: Match, context: RaisedContext) -> Rewording | None:
    """Explain calculations with values that are neither tensors nor numbers."""
    kind = match[1]
    if kind in {"tensor", "NoneType", "constexpr", "tuple", "Dtype"}:
        return None
    for inner in ast.walk(context.node):
        value = context.value_of(inner) if isinstance(inner, ast.expr) else None
        value = getattr(value, "value", value)
        if value is not None and type(value).__name__ == kind:
            if kind == "Absent":
                library = value.__name__.partition(".")[0]
                return Rewording(
                    f"{source_text(inner)} is {value.__name__}, and {library} is not installed "
                    "here",
                    "Write its value into the source, or make it a tl.constexpr parameter of the "
                    "kernel.",
                )
            if _is_quoted_number(value) and getattr(inner, "id", None) in context.values:
                name = source_text(inner)
                return Rewording(
                    f'{name} is the string "{value}": a kernel cannot compute with it',
                    f"In `constexprs`, give {name} without quotes: {value}.",
                )
            is_function = "unction" in kind
            what = "a string" if kind == "str" else "a function" if is_function else f"a {kind}"
            return Rewording(
                f"{source_text(inner)} is {what}: a kernel cannot compute with it",
                _OF_FUNCTIONS.get(kind, "Use numbers, tensors and tl.constexpr."),
            )
    return None


def _is_quoted_number(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"-?\d{1,20}(?:\.\d{1,20})?", value) is not None


def _operand(node: ast.expr) -> str:
    text = source_text(node)
    return f"({text})" if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)) else text


def _is_pointer(node: ast.AST, context: RaisedContext) -> bool:
    kind: Any = context.types.get(node.id) if isinstance(node, ast.Name) else None
    return isinstance(kind, str) and kind.startswith("*")
