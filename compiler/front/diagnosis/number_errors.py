"""Advice on numbers: too large for a type, changed by loops, absent types, shapes and sizes."""

import ast
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from compiler.back import triton_api
from compiler.front.diagnosis.context import Match, RaisedContext, source_text
from compiler.front.diagnosis.source_places import assignments
from compiler.target import ARCHITECTURES, parse_target

_INTEGER = re.compile(r"(u?)int(\d+)")
_WIDEST_BITS = 64
_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_SIGNS: dict[type, str] = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}


def out_of_range(match: Match, context: RaisedContext) -> str:
    """Return advice on "Scalar 4294901760 is out of range for type int32".

    A mask of bits keeps its type: converted to int64, its result is twice as wide.
    """
    value, kind = int(match[1]), _INTEGER.fullmatch(match[2])
    if kind is None:
        return f"Convert the other operand with .to(...): {match[2]} does not hold {value}."
    is_unsigned, bits = bool(kind[1]), int(kind[2])
    other, constant = _sides(context.node)
    if _is_of_bits(context.node, constant) and not is_unsigned and 0 <= value < 1 << bits:
        same_bits = f"-{hex((1 << bits) - value)}"
        unsigned = f"uint{bits}"
        sign = _SIGNS.get(type(getattr(context.node, "op", None)))
        written = f"`{other} {sign} {same_bits}`" if sign else same_bits
        return (
            f"The int{bits} with these bits is {same_bits}: write {written}, or give the other "
            f"operand an unsigned type: {other}.to(tl.{unsigned}, bitcast=True)."
        )
    if value >= 1 << (_WIDEST_BITS - 1):
        return f"Give the other operand a wider type first: {other}.to(tl.uint64)."
    return f"Give the other operand a wider type first: {other}.to(tl.int64)."


def unsigned_and_negative(_: Match, context: RaisedContext) -> str:
    """Return advice on a negative number next to an unsigned tensor."""
    other, _constant = _sides(context.node)
    return f"Give the other operand a signed type first: {other}.to(tl.int64)."


def bitcast(match: Match, context: RaisedContext) -> str:
    """Return advice on `not n` of an integer, and on a bitcast between types of two sizes."""
    if isinstance(context.node, ast.UnaryOp) and isinstance(context.node.op, ast.Not):
        return f"`not` takes conditions: write `{source_text(context.node.operand)} == 0`."
    kind = f"int{match[2]}"
    return (
        f"A bitcast keeps the bits, and so their number: convert to a type of {match[2]} bits "
        f"first, such as x.to(tl.{kind})."
    )


def _is_of_bits(node: ast.AST, constant: str) -> bool:
    """Return True where the number's bits are meant: masks, and numbers written as such."""
    if isinstance(getattr(node, "op", None), _BITWISE):
        return True
    return constant.strip("-").lower().startswith(("0x", "0b"))


def _sides(node: ast.AST) -> tuple[str, str]:
    """Return the texts of the tensor and of the number of an operation, as far as it shows."""
    if isinstance(node, ast.BinOp):
        left, right = node.left, node.right
    elif isinstance(node, ast.AugAssign):
        left, right = node.target, node.value
    elif isinstance(node, ast.Compare):
        left, right = node.left, node.comparators[0]
    else:
        return "x", ""
    if _is_number(left):
        left, right = right, left
    text = source_text(left)
    is_compound = isinstance(left, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp))
    return f"({text})" if is_compound else text, source_text(right)


def _is_number(node: ast.AST) -> bool:
    return not any(isinstance(inner, (ast.Name, ast.Call)) for inner in ast.walk(node))


def carried_constant(match: Match, context: RaisedContext) -> str | None:
    """Return advice on a variable that is a constant before a loop and a tensor in it."""
    name = match[1]
    if match[3] != "constexpr":
        return None
    start = f"Make it a value of the running kernel above the loop: `{name} = {name} + 0`."
    if name not in context.values:
        return start
    constants = [name, *(n for n in _assigned_from(name, context) if n != name)]
    shown = " and ".join(f"{n} = {context.values[n]!r}" for n in constants)
    several = len(constants) > 1
    specialized = [n for n in constants if n not in _annotated(context)]
    words = f"{shown} {'are constants' if several else 'is a constant'} here. {start}"
    if name not in specialized:
        return words
    listed = ", ".join(f'"{n}"' for n in specialized)
    return (
        f"{words} An argument equal to 1 becomes a constant unless the decorator is "
        f"@triton.jit(do_not_specialize=[{listed}])."
    )


def _assigned_from(name: str, context: RaisedContext) -> list[str]:
    """Return the constant that a loop assigns to `name`, if it is one."""
    changed = next(iter(assignments(context.node, name)), None)
    if isinstance(changed, ast.Assign) and isinstance(changed.value, ast.Name):
        return [n for n in [changed.value.id] if n in context.values]
    return []


def _annotated(context: RaisedContext) -> set[str]:
    parameters = getattr(context.function, "params", ())
    return {parameter.name for parameter in parameters if parameter.is_constexpr}


def absent_type(match: Match, context: RaisedContext) -> str:
    """Return advice on an element type that the target does not have."""
    name = match[1]
    users = [n for n, kind in context.types.items() if _element(kind) == name]
    subject = f"{', '.join(users)}: choose" if users else "Choose"
    where = " and ".join(_targets_with(name))
    has = f"{name} is there on {where}" if where else f"no target has {name}"
    return f"{subject} another dtype ({match[2]}), or another target: {has}."


def _element(kind: object) -> str:
    return str(kind).lstrip("*k").partition(":")[0]


@lru_cache(maxsize=16)
def _targets_with(name: str) -> tuple[str, ...]:
    """Return the targets whose compiler has the fp8 type `name`, in words."""
    known: dict[str, list[tuple[str, bool]]] = {}
    for row in ARCHITECTURES:
        backend = triton_api.make_backend(triton_api.target_of(parse_target(row.name)))
        types = getattr(backend.parse_options({}), "supported_fp8_dtypes", ())
        known.setdefault(row.backend, []).append((row.name, name in types))
    return tuple(filter(None, map(_range, known.values())))


def _range(rows: Sequence[tuple[str, bool]]) -> str:
    having = [name for name, has in rows if has]
    if len(having) == len(rows):
        return f"{rows[0][0].partition(':')[0]} targets"
    if having and all(has for _, has in rows[-len(having) :]):
        return f"{having[0]} and newer"
    return ", ".join(having)


def constexpr_needed(_: Match, context: RaisedContext) -> str:
    """Return advice on a size that is not known at compile time, or is not an integer."""
    for name in names_in(context.node):
        if name in context.values and (wrong := _no_size(name, context.values[name])) is not None:
            return wrong
    if any(isinstance(node, ast.Div) for node in ast.walk(context.node)):
        return "`/` gives a float; sizes are integers: divide with //."
    plain = [name for name in names_in(context.node) if name in context.types]
    if plain:
        return (
            f"Annotate the parameter: `{plain[0]}: tl.constexpr`; its value goes to `constexprs`."
        )
    if isinstance(context.node, ast.Call) and ast.unparse(context.node.func) == "tl.arange":
        return (
            "The bounds of tl.arange are known at compile time: add what only the running kernel "
            "knows to it, as in start + tl.arange(0, BLOCK)."
        )
    return (
        "Shapes must be known at compile time: annotate the parameter they come from "
        "as tl.constexpr."
    )


def _no_size(name: str, value: Any) -> str | None:
    if value is None:
        return f"{name} is None (null in `constexprs`); sizes are integers."
    if isinstance(value, str):
        return f'In `constexprs`, give {name} without quotes: it is "{value}", a string.'
    if isinstance(value, float):
        better = f": give it as {int(value)}" if value.is_integer() else ""
        return f"{name} is {value}, a float; sizes are integers{better}."
    return None


def power_of_two(_: Match, context: RaisedContext) -> str:
    """Return advice on a size that is not a power of 2."""
    if isinstance(context.node, ast.Call) and "reshape" in ast.unparse(context.node.func):
        return reshape(_, context)
    for size in _sizes_in(context):
        if size > 0 and size & (size - 1):
            better = 1 << size.bit_length()
            return f"Use {better} (triton.next_power_of_2({size})) and mask what is past {size}."
    return "Round up with triton.next_power_of_2 and mask what is past the end."


def reshape(_: Match, context: RaisedContext) -> str:
    """Return advice on a shape that does not hold the elements there are."""
    shape = context.operands.get("input") or context.operands.get("self")
    kept = f"the number of elements (here {shape})" if shape else "the number of elements"
    return f"Reshaping keeps {kept}, and every side of a tensor is a power of 2."


def dot(_: Match, context: RaisedContext) -> str:
    """Return advice on the shapes of the operands of tl.dot, naming them."""
    known = context.operands
    lhs, rhs = known.get("lhs", known.get("input", "?")), known.get("rhs", known.get("other", "?"))
    acc = known.get("acc", "?")
    sizes = f"; here it is {lhs} by {rhs}" if "?" not in {lhs, rhs} else ""
    onto = f", onto {acc}" if sizes and acc != "?" else ""
    return f"tl.dot multiplies [M, K] by [K, N] and adds onto [M, N]{sizes}{onto}."


def operand_types(match: Match, context: RaisedContext) -> str:
    """Return advice on types that an operator does not take."""
    pointer, other = (next((t for t in match.groups() if p in t), "") for p in ("pointer", "float"))
    operator = getattr(context.node, "op", None)
    if not isinstance(context.node, ast.BinOp):
        if pointer and isinstance(context.node, ast.Compare):
            return "One side is a pointer: read it with tl.load, or give it a type without *."
        return "Give both the same type: convert one of them with .to(...)."
    if pointer and other:
        return "An offset is an integer: divide with //, or convert with .to(tl.int32)."
    if pointer:
        return "Only integers are added to a pointer, or subtracted from it."
    if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)):
        return (
            "Operations on bits take integers: compare first (x > 0), or convert with "
            ".to(tl.int32), or .to(tl.int32, bitcast=True) for the bits of a float."
        )
    return "Convert one of the operands with .to(...)."


def axis(match: Match, _: RaisedContext) -> str:
    """Return advice on an axis that a tensor does not have."""
    return f"The tensor has {match[1]} dimension{'s' * (match[1] != '1')}, counted from 0."


def names_in(node: ast.AST) -> list[str]:
    """Return the names that an expression looks up."""
    return [inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)]


def _sizes_in(context: RaisedContext) -> list[int]:
    values = [context.values[n] for n in names_in(context.node) if n in context.values]
    values += [n.value for n in ast.walk(context.node) if isinstance(n, ast.Constant)]
    return [size for size in values if isinstance(size, int) and not isinstance(size, bool)]
