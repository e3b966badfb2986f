"""Integer formulas over names, walked node by node: what is not on the list is refused."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compiler.rejection import did_you_mean, shown


class FormulaFailed(ValueError):
    """The formula is none, or has no value; the message says why."""


def names_in(node: ast.expr) -> frozenset[str]:
    """Return the names that a formula uses, having looked at every node of it.

    Raises FormulaFailed for anything that does not belong in a formula.
    """
    return frozenset(_names(node))


def evaluated(node: ast.expr, values: Mapping[str, Any]) -> int:
    """Return the value of a formula that `names_in` accepted.

    Raises FormulaFailed for an unknown name, one that is no integer, and a division by zero.
    """
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return _named(name, values)
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](evaluated(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            return _divided(_BINARY[type(op)], evaluated(left, values), evaluated(right, values))
        case ast.Call(func=function, args=arguments):
            call = _FUNCTIONS[_callee(function)][0]
            return _divided(call, *(evaluated(argument, values) for argument in arguments))
    raise FormulaFailed("not a formula")


def _names(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=value) if type(value) is int:
            return
        case ast.Name(id=name):
            yield name
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            yield from _names(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            yield from _names(left)
            yield from _names(right)
        case ast.Call(func=function, args=arguments, keywords=[]):
            _check_call(_callee(function), len(arguments))
            for argument in arguments:
                yield from _names(argument)
        case _:
            raise FormulaFailed(_refusal(node))


def _refusal(node: ast.expr) -> str:
    text = shown(ast.unparse(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return f"{text} divides to a fraction; write // or cdiv(a, b)"
    return f"{text} does not belong in a grid: only + - * // % and {', '.join(_FUNCTIONS)} do"


def _check_call(name: str, count: int) -> None:
    _, least, most = _FUNCTIONS[name]
    if not least <= count <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        raise FormulaFailed(f"{name} takes {expected} arguments, not {count}")


def _callee(function: ast.expr) -> str:
    text = ast.unparse(function).removeprefix("triton.").removeprefix("tl.")
    if text not in _FUNCTIONS:
        message = f"there is no function {shown(text)}.{did_you_mean(text, _FUNCTIONS)}"
        raise FormulaFailed(f"{message} There are {', '.join(_FUNCTIONS)}")
    return text


def _named(name: str, values: Mapping[str, Any]) -> int:
    if name not in values:
        known = ", ".join(sorted(values)) or "none"
        message = f"there is no value named {shown(name)}.{did_you_mean(name, values)}"
        raise FormulaFailed(f"{message} Known are {known}")
    value = values[name]
    if not isinstance(value, int):
        raise FormulaFailed(f"{name} is no integer")
    return int(value)


def _divided(operation: Callable[..., int], *operands: int) -> int:
    try:
        return operation(*operands)
    except ZeroDivisionError:
        raise FormulaFailed("divides by zero") from None


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _next_power_of_2(a: int) -> int:
    return 1 << (a - 1).bit_length() if a > 0 else 0


_UNARY: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, tuple[Callable[..., int], int, int]] = {
    "cdiv": (_cdiv, 2, 2),
    "min": (min, 2, 8),
    "max": (max, 2, 8),
    "next_power_of_2": (_next_power_of_2, 1, 1),
}
