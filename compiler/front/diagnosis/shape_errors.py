"""Advice on shapes and sizes: constants that are none, powers of 2, blocks that do not fit."""

import ast
from typing import Any

from compiler.front.diagnosis.context import Match, RaisedContext


def constexpr_needed(_: Match, context: RaisedContext) -> str:
    """Return advice on a size that is not known at compile time, or is no integer."""
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
        return f'{name} is "{value}", a string; sizes are integers: give it without quotes.'
    if isinstance(value, float):
        better = f": give it as {int(value)}" if value.is_integer() else ""
        return f"{name} is {value}, a float; sizes are integers{better}."
    return None


def power_of_two(_: Match, context: RaisedContext) -> str:
    """Return advice on a size that is no power of 2."""
    if isinstance(context.node, ast.Call) and "reshape" in ast.unparse(context.node.func):
        return reshape(_, context)
    for size in _sizes_in(context):
        if size > 0 and size & (size - 1):
            better = 1 << size.bit_length()
            return f"Use {better} (triton.next_power_of_2({size})) and mask what is past {size}."
    return "Round up with triton.next_power_of_2 and mask what is past the end."


def reshape(_: Match, context: RaisedContext) -> str:
    """Return advice on a shape that does not hold the elements there are."""
    given = context.operands.get("input") or context.operands.get("self")
    kept = f"the number of elements (here {given})" if given else "the number of elements"
    return f"Reshaping keeps {kept}, and every side of a tensor is a power of 2."


def dot(_: Match, context: RaisedContext) -> str:
    """Return advice on the shapes of the operands of tl.dot, naming them."""
    known = context.operands
    lhs, rhs = known.get("lhs", known.get("input", "?")), known.get("rhs", known.get("other", "?"))
    acc = known.get("acc", "?")
    given = f"; here it is {lhs} by {rhs}" if "?" not in {lhs, rhs} else ""
    onto = f", onto {acc}" if given and acc != "?" else ""
    return f"tl.dot multiplies [M, K] by [K, N] and adds onto [M, N]{given}{onto}."


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
    found = [context.values[n] for n in names_in(context.node) if n in context.values]
    found += [n.value for n in ast.walk(context.node) if isinstance(n, ast.Constant)]
    return [size for size in found if isinstance(size, int) and not isinstance(size, bool)]
