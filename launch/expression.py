"""Expressions of requests: grids, conditions of a sweep's `where`, values of `@triton.heuristics`.

They have arithmetic, comparisons and conditionals by Python's rules over numbers, strings, booleans
and None. Grids use a part of this. A walk over the tree evaluates them, with a limit for every
number; Python never does.
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compiler.rejection import did_you_mean, shown
from launch.formula import Bounds, FormulaFailed, cdiv, next_power_of_2, parsed

MAX_BITS: Final = 256
CHARACTERS: Final = re.compile(r"[\w\s+\-*/%(),.<>=!&|^\[\]'\":]*", re.ASCII)
GRAMMAR: Final = (
    "an expression has integers, names, texts in quotes, + - * // % and "
    "cdiv min max next_power_of_2, compared by == != < <= > >= in, joined by and, or, not"
)

Value = bool | int | float | str | tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class OpaqueArgument:
    """A given argument that is not a number: an expression may only test it with `is None`."""

    name: str


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression."""

    text: str
    size: int
    """The number of nodes: the cost of one evaluation."""
    names: frozenset[str]
    """The names that it may read."""
    constants: frozenset[bool | int | float | str | None]
    """The constants in its text."""
    _node: ast.expr = field(compare=False, repr=False)

    def value(self, values: Mapping[str, Any]) -> Value:
        """Return the value for arguments with these `values`, some perhaps an OpaqueArgument.

        Raises FormulaFailed for a missing value and for every error that Python would raise.
        """
        value: Value | OpaqueArgument = _value(self._node, values)
        if isinstance(value, OpaqueArgument):
            raise FormulaFailed(f"{value.name} must be a number, string, boolean or None")
        return value


def refusal(node: ast.AST) -> str | None:
    """Return the reason why expressions do not allow `node`; None: they do."""
    is_known = isinstance(node, _NODES)
    if isinstance(node, ast.Constant):
        is_known = node.value is None or isinstance(node.value, int | float | str)
    if is_known:
        return None
    text = shown(ast.unparse(node)) if isinstance(node, ast.expr) else type(node).__name__
    return f"{text} is not allowed in an expression"


def read_expression(
    text: str,
    bounds: Bounds,
    groups: Iterable[str] = (),
    refusal: Callable[[ast.AST], str | None] = refusal,
) -> Expression:
    """Parse an expression; a name may have one of `groups` and a dot before it.

    `refusal` returns the reason why a node is not allowed. Raises FormulaFailed.
    """
    tree = _Undotted(tuple(groups)).visit(parsed(text, bounds))
    nodes = list(ast.walk(tree))
    for node in nodes:
        _check_call(node)
        if (why := refusal(node)) is not None:
            raise FormulaFailed(why)
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    named = (node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions)
    names = frozenset(node.id for node in named)
    constants = frozenset(node.value for node in nodes if isinstance(node, ast.Constant))
    return Expression(text, len(nodes), names, constants, tree)  # type: ignore[arg-type]


_NODES = (
    ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.List, ast.Call, ast.IfExp, ast.BoolOp,
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_MODULES = ("triton", "tl")


class _Undotted(ast.NodeTransformer):
    """Joins `constexprs.BLOCK` into one name, and turns `triton.cdiv` into `cdiv`."""

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = groups

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _MODULES:
                node.func = ast.Name(name, ast.Load())
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        match node.value:
            case ast.Name(id=group) if group in self._groups:
                return ast.Name(f"{group}.{node.attr}", ast.Load())
        return node


def _check_call(node: ast.AST) -> None:
    match node:
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in _FUNCTIONS:
                message = f"there is no function {shown(name)}.{did_you_mean(name, _FUNCTIONS)}"
                raise FormulaFailed(f"{message} There are {', '.join(_FUNCTIONS)}")
            _, least, most = _FUNCTIONS[name]
            if not least <= len(arguments) <= most:
                count = str(least) if least == most else f"{least} to {most}"
                raise FormulaFailed(f"{name} takes {count} arguments, not {len(arguments)}")
        case ast.Call(func=function):
            message = f"there is no function {shown(ast.unparse(function))}."
            raise FormulaFailed(f"{message} There are {', '.join(_FUNCTIONS)}")


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Name(id=name):
            if name not in values:
                raise FormulaFailed(f"needs {name}, whose value the request does not give")
            return values[name]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(_value(item, values) for item in items)
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return _value(body if _truth(test, values) else otherwise, values)
        case ast.BoolOp(op=op, values=parts):
            return _joined(isinstance(op, ast.And), parts, values)
    return _computed(node, values)


def _computed(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _truth(operand, values)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _counted(_UNARY[type(op)], _value(operand, values))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _counted(_BINARY[type(op)], _value(left, values), _value(right, values))
        case ast.Compare(left=left, ops=operators, comparators=others):
            return _compared(_value(left, values), operators, others, values)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _counted(_FUNCTIONS[name][0], *(_value(item, values) for item in arguments))
    raise FormulaFailed(f"{shown(ast.unparse(node))} is not allowed in an expression")


def _truth(node: ast.expr, values: Mapping[str, Any]) -> bool:
    value = _value(node, values)
    if isinstance(value, OpaqueArgument):
        raise FormulaFailed(f"asks whether {value.name} is true; write `is not None`")
    return bool(value)


def _joined(every: bool, parts: Sequence[ast.expr], values: Mapping[str, Any]) -> Any:
    """Return the result of Python's `and` or `or`: the deciding operand, or the last."""
    for part in parts[:-1]:
        value = _value(part, values)
        if isinstance(value, OpaqueArgument):
            raise FormulaFailed(f"asks whether {value.name} is true; write `is not None`")
        if bool(value) is not every:
            return value
    return _value(parts[-1], values)


def _compared(
    left: Any,
    operators: Sequence[ast.cmpop],
    others: Sequence[ast.expr],
    values: Mapping[str, Any],
) -> bool:
    for operation, other in zip(operators, others, strict=True):
        right = _value(other, values)
        if not _holds(operation, left, right):
            return False
        left = right
    return True


def _holds(operation: ast.cmpop, left: Any, right: Any) -> bool:
    if isinstance(operation, ast.Is | ast.IsNot):
        if left is not None and right is not None and not isinstance(right, bool):
            raise FormulaFailed("`is` asks for None, True and False only")
        return (left is right) is isinstance(operation, ast.Is)
    for value in (left, right):
        if isinstance(value, OpaqueArgument):
            raise FormulaFailed(
                f"compares {value.name}, which is not a number; only `is None` may test it"
            )
    if isinstance(operation, ast.In | ast.NotIn):
        if not isinstance(right, tuple):
            raise FormulaFailed("`in` needs a list on its right, such as [32, 64]")
        return (left in right) is isinstance(operation, ast.In)
    if type(operation) in _EQUAL:
        return _EQUAL[type(operation)](left, right)
    for value in (left, right):
        if not isinstance(value, int | float):
            raise FormulaFailed(f"{shown(value)} has no order; compare it with == or !=")
    return _ORDERED[type(operation)](left, right)


def _counted(operation: Callable[..., Any], *operands: Any) -> Any:
    """Return `operation` of numbers. Raises FormulaFailed if the result is too large."""
    for operand in operands:
        if isinstance(operand, OpaqueArgument):
            raise FormulaFailed(f"computes with {operand.name}, which is not a number")
        if not isinstance(operand, int | float):
            raise FormulaFailed(f"computes with {shown(operand)}, which is not a number")
    try:
        value = operation(*operands)
    except ZeroDivisionError:
        raise FormulaFailed("divides by zero") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise FormulaFailed(f"fails: {error}") from None
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise FormulaFailed(f"the result has more than {MAX_BITS} bits")
    if isinstance(value, complex):
        raise FormulaFailed("makes a complex number")
    return value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b * max(a.bit_length(), 1) > MAX_BITS:
        raise OverflowError(f"a power of more than {MAX_BITS} bits")
    return a**b


def _shifted_left(a: int, b: int) -> int:
    if b > MAX_BITS:
        raise OverflowError(f"a shift by more than {MAX_BITS} bits")
    return a << b


_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.LShift: _shifted_left,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_EQUAL: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ORDERED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "cdiv": (cdiv, 2, 2),
    "next_power_of_2": (next_power_of_2, 1, 1),
    "min": (min, 2, 8),
    "max": (max, 2, 8),
    "abs": (abs, 1, 1),
    "bool": (bool, 1, 1),
    "int": (int, 1, 1),
}
