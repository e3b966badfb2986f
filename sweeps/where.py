"""Conditions of a sweep's `where`: the grid's formulas, compared.

Read with Python's parser and walked node by node, where what is not on the list is refused. Nothing
is evaluated as Python.
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from compiler.rejection import Fault, RequestRejected, did_you_mean, shown
from launch.request.grid import FormulaFailed, evaluated, names_in

MAX_CHARS: Final = 256
MAX_NODES: Final = 64
MAX_SHOWN_NAMES: Final = 20
GROUPS: Final = ("constexprs", "arguments", "options")
"""Where a bare name is looked for, in this order."""

Value = bool | int | float | str | None
Values = Mapping[str, Value]
"""Of one variant: `constexprs.BLOCK`, `options.num_warps`, `arguments.n`, `target` and so on."""

_CHARACTERS = re.compile(r"[\w\s+\-*/%(),.<>=!\[\]'\":]*", re.ASCII)
_GRAMMAR = (
    "a condition compares (== != < <= > >= in, not in) integers, names, texts in quotes and "
    "formulas of + - * // % cdiv min max next_power_of_2, joined by and, or, not"
)
_ORDERED: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_EQUAL: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_AMONG = (ast.In, ast.NotIn)


@dataclass(frozen=True, slots=True)
class Condition:
    """One expression of `where`, read; `at` is where the request has it."""

    text: str
    at: str
    size: int
    """Nodes: what one evaluation costs."""
    _expression: ast.expr = field(compare=False, repr=False)

    def holds(self, values: Values) -> bool:
        """Return whether a variant with these values stays.

        Raises FormulaFailed for a name that it does not have, a division by zero, and what cannot
        be compared.
        """
        return _holds(self._expression, values)


def read_where(texts: Sequence[str], at: str = "/where") -> tuple[Condition, ...]:
    """Read the conditions. Raises RequestRejected with a fault for each that is none."""
    faults: list[Fault] = []
    conditions = []
    for index, text in enumerate(texts):
        try:
            conditions.append(_read(text, f"{at}/{index}"))
        except FormulaFailed as failed:
            faults.append(Fault(f"{at}/{index}", f"{shown(text)}: {failed}"))
    if faults:
        raise RequestRejected(*faults)
    return tuple(conditions)


def _read(text: str, at: str) -> Condition:
    if len(text) > MAX_CHARS:
        raise FormulaFailed(f"longer than {MAX_CHARS} characters")
    if not _CHARACTERS.fullmatch(text):
        raise FormulaFailed(_GRAMMAR)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaFailed(f"not an expression; {_GRAMMAR}") from None
    size = sum(1 for _ in ast.walk(tree))
    if size > MAX_NODES:
        raise FormulaFailed(f"more than {MAX_NODES} terms and operators")
    expression = _Undotted().visit(tree)
    _check(expression)
    return Condition(text, at, size, expression)


class _Undotted(ast.NodeTransformer):
    """Makes one name of `constexprs.BLOCK`, which has a dot in the values, too."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(argument) for argument in node.args]
        return node  # tl.cdiv stays as it is

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in GROUPS:
            return ast.Name(id=f"{node.value.id}.{node.attr}", ctx=ast.Load())
        return node


def _check(node: ast.expr) -> None:
    """Look at every node of a condition. Raises FormulaFailed for what does not belong there."""
    match node:
        case ast.BoolOp(values=parts):
            for part in parts:
                _check(part)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            _check(operand)
        case ast.Compare(left=left, ops=operators, comparators=comparators):
            _check_operand(left)
            for operation, right in zip(operators, comparators, strict=True):
                _check_comparison(operation, right)
        case ast.Name():
            pass
        case _:
            message = f"{shown(ast.unparse(node))} is neither true nor false; compare it"
            raise FormulaFailed(message)


def _check_comparison(operation: ast.cmpop, right: ast.expr) -> None:
    if isinstance(operation, _AMONG):
        if not isinstance(right, ast.List | ast.Tuple):
            raise FormulaFailed("behind `in` stands a list, such as [32, 64]")
        for item in right.elts:
            _check_operand(item)
    elif type(operation) in _ORDERED or type(operation) in _EQUAL:
        _check_operand(right)
    else:
        raise FormulaFailed("`is` compares objects; write == or !=")


def _check_operand(node: ast.expr) -> None:
    match node:
        case ast.Constant(value=bool() | str() | float() | None):
            pass
        case _:
            try:
                names_in(node)
            except FormulaFailed as failed:  # the grid's words, of a condition
                raise FormulaFailed(str(failed).replace("in a grid", "in a condition")) from None


def _holds(node: ast.expr, values: Values) -> bool:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_holds(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_holds(part, values) for part in parts)
        case ast.UnaryOp(operand=operand):
            return not _holds(operand, values)
        case ast.Compare(left=left, ops=operators, comparators=comparators):
            return _compared(_operand(left, values), operators, comparators, values)
    value = _operand(node, values)
    if not isinstance(value, bool):
        raise FormulaFailed(f"{shown(ast.unparse(node))} is {shown(value)}, not true or false")
    return value


def _compared(
    left: Value, operators: Sequence[ast.cmpop], others: Sequence[ast.expr], values: Values
) -> bool:
    for operation, other in zip(operators, others, strict=True):
        if isinstance(operation, _AMONG):
            assert isinstance(other, ast.List | ast.Tuple)
            among = any(_equal(left, _operand(item, values)) for item in other.elts)
            if among is isinstance(operation, ast.NotIn):
                return False
            continue
        right = _operand(other, values)
        if not _is_true(operation, left, right):
            return False
        left = right
    return True


def _is_true(operation: ast.cmpop, left: Value, right: Value) -> bool:
    if type(operation) in _EQUAL:
        return _equal(left, right) is isinstance(operation, ast.Eq)
    for value in (left, right):
        if not isinstance(value, int | float):
            raise FormulaFailed(f"{shown(value)} has no order; compare it with == or !=")
    return _ORDERED[type(operation)](left, right)


def _equal(left: Value, right: Value) -> bool:
    return left == right


def _operand(node: ast.expr, values: Values) -> Value:
    match node:
        case ast.Constant(value=bool() | str() | float() | None as value):
            return value
        case ast.Name(id=name):
            return _named(name, values)
    return evaluated(node, _Integers(values))


class _Integers(Mapping[str, Any]):
    """The values as the grid's formulas look them up: by bare names, too."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return _named(name, self._values)

    def __contains__(self, name: object) -> bool:
        return True  # so that `_named` says what there is

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _named(name: str, values: Values) -> Value:
    if name in values:
        return values[name]
    for group in GROUPS:
        if (dotted := f"{group}.{name}") in values:
            return values[dotted]
    known = sorted({text.partition(".")[2] or text for text in values})
    listed = ", ".join(known[:MAX_SHOWN_NAMES]) or "none"
    if len(known) > MAX_SHOWN_NAMES:
        listed += f" and {len(known) - MAX_SHOWN_NAMES} more"
    message = f"there is no value named {shown(name)}.{did_you_mean(name, known)}"
    raise FormulaFailed(f"{message} Known are {listed}")
