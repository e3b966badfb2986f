"""Reads from the uses of a number whether it is an integer or a float."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from compiler.reading.proposals.clues import Clue, Strength, UseClues
from compiler.reading.proposals.parsed_function import ParsedFunction, argument
from compiler.reading.proposals.value_kinds import ValueKinds

_INTEGERS_OF = {
    "range": "is a bound of a loop",
    "static_range": "is a bound of a loop",
    "cdiv": "stands in tl.cdiv",
    "arange": "stands in tl.arange",
    "program_id": "is an axis",
    "next_power_of_2": "is a size",
}
_COMPARED = "is compared with an offset"
_WRAPPED = "wraps an offset"
_OF_SIZES = frozenset({_COMPARED, _WRAPPED, *(_INTEGERS_OF[name] for name in ("range", "cdiv"))})
_FLOATS_OF = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "sin", "cos"})
_OF_ONE_KIND = frozenset({"minimum", "maximum", "min", "max", "where", "clamp"})
_SEEDED = frozenset({"rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox"})
_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_INTEGER_OPERATIONS = (ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr)


def note_scalars(
    function: ParsedFunction, evidence: dict[str, UseClues], kinds: ValueKinds
) -> None:
    """Add what the uses of parameters as numbers imply."""
    for node in function.nodes:
        for used, clue in _implied(node, function, kinds):
            if isinstance(used, ast.Name) and used.id in evidence:
                evidence[used.id].scalar.append(clue)
                if clue.reason in _OF_SIZES:
                    evidence[used.id].size.append(replace(clue, implied="size"))


def _implied(
    node: ast.AST, function: ParsedFunction, kinds: ValueKinds
) -> Iterator[tuple[ast.expr, Clue]]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            for one, other in ((left, right), (right, left)):
                is_right = one is right
                yield from _operand(one, op, kinds.of(other), node.lineno, is_right=is_right)
        case ast.Compare(left=left, comparators=[right]):
            for one, other in ((left, right), (right, left)):
                is_number = isinstance(other, ast.Constant)
                yield from _compared(one, kinds.of(other), node.lineno, is_number=is_number)
        case ast.Call():
            yield from _passed(node, function, kinds)
        case ast.If(test=ast.Name() as test) | ast.IfExp(test=ast.Name() as test):
            yield test, Clue("int", node.lineno, "is a condition", Strength.WEAK)


def _operand(
    one: ast.expr, op: ast.operator, other: str | None, line: int, *, is_right: bool
) -> Iterator[tuple[ast.expr, Clue]]:
    if isinstance(op, ast.Mod) and is_right:
        yield one, Clue("int", line, _WRAPPED)
    elif isinstance(op, _INTEGER_OPERATIONS):
        clue = Clue("int", line, "is an operand of an integer operation")
        yield from ((used, clue) for used in _terms(one))
    elif isinstance(op, _OPERATIONS) and other == "float":
        yield one, Clue("float", line, "is an operand of float arithmetic", Strength.LIKELY)
    elif isinstance(op, _OPERATIONS) and other == "int":
        yield one, Clue("int", line, "is an operand of integer arithmetic", Strength.WEAK)


def _compared(
    one: ast.expr, other: str | None, line: int, *, is_number: bool
) -> Iterator[tuple[ast.expr, Clue]]:
    if other == "int":
        yield one, Clue("int", line, "is compared with a number" if is_number else _COMPARED)
    elif other == "float":
        yield one, Clue("float", line, "is compared with floats", Strength.LIKELY)


def _passed(
    call: ast.Call, function: ParsedFunction, kinds: ValueKinds
) -> Iterator[tuple[ast.expr, Clue]]:
    name, line = function.callee(call), call.lineno
    if name in _INTEGERS_OF:
        clue = Clue("int", line, _INTEGERS_OF[name])
        yield from ((used, clue) for part in call.args for used in _terms(part))
    elif name in _SEEDED and call.args:
        yield call.args[0], Clue("int", line, "is a seed")
    elif name in _FLOATS_OF or function.is_of_libdevice(call):
        reason = f"is an argument of tl.{name}"
        yield from ((part, Clue("float", line, reason, Strength.LIKELY)) for part in call.args)
    elif name in _OF_ONE_KIND:
        yield from _beside(call.args[1:] if name == "where" else call.args[:3], kinds, line)
    elif name == "load" and (other := argument(call, 2, "other")) is not None:
        yield other, Clue("float", line, "stands for masked elements", Strength.WEAK)
    elif name == "store" and (value := argument(call, 1, "value")) is not None:
        yield value, Clue("float", line, "is stored", Strength.WEAK)


def _beside(parts: list[ast.expr], kinds: ValueKinds, line: int) -> Iterator[tuple[ast.expr, Clue]]:
    for part in parts:
        others = {kinds.of(other) for other in parts if other is not part}
        if others & {"int", "float"}:
            kind = "float" if "float" in others else "int"
            yield part, Clue(kind, line, f"is used with {kind}s", Strength.LIKELY)


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the names in a sum or product."""
    if isinstance(node, ast.BinOp):
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part
    else:
        yield node
