"""What to do about a front-end error: one line of advice for the mistakes that people really make."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import triton.language as tl

from compiler.making.constructs import CONSTRUCTS
from compiler.making.places import first_assignment
from compiler.making.suggestions import closest

Match = re.Match[str]


@dataclass(frozen=True)
class Context:
    """What is known where an error happened: the node, its function, and the kernel's constexprs and types."""

    message: str
    node: ast.AST
    function: Any
    values: Mapping[str, Any]
    types: Mapping[str, Any]

    @property
    def tree(self) -> ast.AST:
        """The syntax tree of the function, with its own line numbers."""
        return ast.parse(self.function.src) if self.function is not None else self.node

    @property
    def globals(self) -> Mapping[str, Any]:
        """The module-level names that the function sees."""
        return self.function.__globals__ if self.function is not None else {}


def hint(context: Context) -> str | None:
    """Return advice for an error, or `None` if nothing better than its message can be said."""
    for pattern, advice in _TABLE:
        match = re.search(pattern, context.message)
        if match is not None:
            return advice if isinstance(advice, str) else advice(match, context)
    return None


def advice_on_name(name: str, known: set[str]) -> str | None:
    """Return advice for a name that is not defined, `known` being those that are."""
    if name == "tl":
        return "Add `import triton.language as tl` at the top of the source."
    if name == "triton":
        return "Add `import triton` at the top of the source."
    meant = closest(name, known)
    if meant is not None and meant != name:
        return f"Did you mean {meant!r}?"
    if name in {"torch", "np", "numpy", "math"}:
        return f"{name} is not imported; inside a kernel use triton.language instead."
    if hasattr(tl, name):
        return f"Did you mean tl.{name}?"
    if hasattr(builtins, name):
        return f"Python's {name} does not exist in kernels."
    return None


def _name(match: Match, context: Context) -> str | None:
    tree = context.tree
    known = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return advice_on_name(match[1], known | context.globals.keys())


def _global(match: Match, context: Context) -> str:
    name = match[1]
    value = context.globals.get(name)
    if inspect.isfunction(value):
        return (
            f"{name} is a plain Python function: put @triton.jit above it "
            "(or @triton.constexpr_function if it only computes with constants)."
        )
    if isinstance(value, (int, float, str, bool, tuple)):
        return f"Write `{name} = tl.constexpr({value!r})`, or pass it as a tl.constexpr parameter."
    return f"Pass {name} as a parameter, or make it a tl.constexpr if it is a constant."


def _module_attribute(match: Match, context: Context) -> str | None:
    module, name = match[1], match[2]
    owner = ast.unparse(context.node.value) if isinstance(context.node, ast.Attribute) else module
    meant = closest(name, dir(sys.modules[module])) if module in sys.modules else None
    if meant is not None:
        return f"Did you mean {owner}.{meant}?"
    if module == "triton.language" and hasattr(tl.tensor, name):
        return f"{name} is a method of tensors: write x.{name}(...)."
    return f"This version of Triton has no {owner}.{name}."


def _object_attribute(match: Match, context: Context) -> str | None:
    kind, name = match[1], match[2]
    if kind in {"tuple", "list"}:
        return (
            "A list in a kernel is a compile-time tuple: it cannot be appended to or changed. "
            "Use a tensor, or write to memory with tl.store."
        )
    if kind in {"Name", "Call", "Subscript", "List", "Tuple", "Attribute"} and name == "func":
        return "A kernel's `for` runs over range(...), tl.range(...) or tl.static_range(...) only."
    if kind == "tensor":
        meant = closest(name, dir(tl.tensor))
        if meant is not None:
            return f"Did you mean .{meant}?"
        if hasattr(tl, name):
            return f"Write tl.{name}(...)."
    return None


def _constexpr_needed(_: Match, context: Context) -> str:
    plain = [name for name in _names_in(context.node) if name in context.types]
    if plain:
        return f"Annotate the parameter: `{plain[0]}: tl.constexpr`, and give its value in `constexprs`."
    return "Shapes must be known at compile time: annotate the parameter they come from as tl.constexpr."


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
    dtype = "tl." + {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(element, element)
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


_Advice = str | Callable[[Match, Context], str | None]

_TABLE: tuple[tuple[str, _Advice], ...] = (
    (r"^(\w+) is not defined", _name),
    (r"reads the global variable '(\w+)'", _global),
    (r"module '([\w.]+)' has no attribute '(\w+)'", _module_attribute),
    (r"^'(\w+)' object has no attribute '?(\w+)'?", _object_attribute),
    (r"unexpected keyword argument '(\w+)'", _keyword),
    (r"missing .*required .*argument|too many positional arguments|takes .* positional argument", _signature),
    (r"must be of type tl\.constexpr|must have type `constexpr|not a constexpr", _constexpr_needed),
    (r"must be a power of 2", _power_of_two),
    (r"Loop-carried variable (\w+) has initial type (.+?) but is re-assigned to (.+?) in loop", _carried),
    (r"initial value for `(\w+)` is of type (.+?), but the (?:then|else) block redefines it as (.+)$", _branch),
    (r"Mismatched type for (\w+) between then block \((.+?)\) and else block \((.+?)\)", _branch),
    (r"unsupported AST node type: (\w+)", _construct),
    (r"`(?:break|try|raise|lambda)", _construct),
    (r"unhashable type: '(\w+)'", _host_value),
    (r"Unsupported ptr type|Unsupported pointer type|base must be a pointer", _pointer),
    (r"Return type mismatch",
     "Every return of a jit function must give the same type: convert with `.to(...)`."),
    (r"incompatible dimensions|Cannot broadcast|rank mismatch",
     "Sizes that meet must be equal or 1: add dimensions with [:, None] and [None, :], or load equal blocks."),
    (r"Block pointers have been removed",
     "Removed in Triton 3.9: use a tensor descriptor (tl.make_tensor_descriptor, then .load and .store) "
     "or plain pointers; or compile with an older Triton."),
    (r"`return` statements inside",
     "A loop cannot be left early: use `while` with a condition, or mask the rest of the loop's body."),
    (r"Boolean value of Tensor with more than one value",
     "An `if` decides once per program, not per element: choose elements with tl.where(condition, a, b) "
     "or mask the loads and stores."),
    (r"input and other must have equal ranks|Both inputs must be either 2D or 3D|dot operands must be block",
     "tl.dot multiplies blocks of two or three dimensions; for vectors write tl.sum(a * b)."),
    (r"Both operands must be same dtype",
     "Convert one operand of tl.dot, such as `b.to(a.dtype)`."),
    (r"Input shapes should have M",
     "Use larger blocks: every side of a tl.dot must reach the sizes the message names."),
    (r"__setitem__ is not supported",
     "A tensor cannot be changed in place: use x = tl.where(mask, value, x), or tl.store to memory."),
    (r"unsupported tensor index",
     "A tensor is indexed with None and : only, which add dimensions. For a part of it use masks with tl.where, "
     "tl.reshape, tl.split or tl.gather."),
    (r"Cannot store to a constant pointer",
     'The parameter is a const pointer: leave out the k in its type ("*fp32" instead of "*kfp32") or tl.const.'),
    (r"exceeds triton maximum tensor numel",
     "A block may have 1048576 elements at most: use smaller blocks and more programs."),
    (r"Mask argument cannot be block|Value argument cannot be block|Other argument cannot be block",
     "The pointer is a single address: add the offsets of a block to it, such as ptr + offsets."),
    (r"`other` cannot be provided without `mask`", "Give tl.load a mask too, or leave out `other`."),
    (r"cannot reassign constexpr",
     "A tl.constexpr keeps its value: assign to another variable, or drop the tl.constexpr annotation."),
    (r"Loop carried variable (\w+) is not a triton value",
     "Start the variable as a tensor, such as tl.full((), 0, tl.int32)."),
    (r"Only `range` and `static_range`", "Loop over range(...), tl.range(...) or tl.static_range(...)."),
    (r"Did you forget to add @triton.jit",
     "A function that uses triton.language needs @triton.jit above it."),
    (r"Attribute assignment is not supported", "Assign to a plain variable instead."),
    (r"nested function definitions are not allowed",
     "Move the function to module level and put @triton.jit above it."),
    (r"expression could not be determined|could not be determined at compile-time",
     "Only tl.constexpr values are known at compile time; use tl.device_assert for run-time values."),
    (r"For loop bounds and step must all be ints", "Convert the bounds with .to(tl.int32), or use //."),
    (r"For (lower|upper) bound must be a scalar|For step must be a scalar",
     "A loop runs once for the whole block: its bounds must be single values, not tensors."),
    (r"Cannot use /, #, or %|cannot add pointers together", "Check the types of both operands."),
    (r"maximum recursion depth exceeded|KeyError: '?[\w.]+__",
     "A jit function cannot call itself: use a loop."),
    (r"unsupported operand type\(s\) for",
     "Check that both operands are numbers or tensors."),
    (r"type \w+ not supported in this architecture",
     "The target has no such type: choose another dtype, or a newer target."),
)  # fmt: skip
