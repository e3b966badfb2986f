"""Reads a contract's text and evaluates it: which sizes keep it, and what follows from them.

Written apart from the prover's reader, so that a mistake of one is not in both. Expressions are
read by Python's own parser and checked node by node: nothing of the text is ever executed as such.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

GRID_LIMITS = (2**31 - 1, 65_535, 65_535)
MAX_CHARACTERS = 20_000
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\d+)*", re.ASCII)
_ZEROS = re.compile(r"(?<![\w.])0+(?=\d)", re.ASCII)
_GUESSED = re.compile(r"only[ \t]+(?=[A-Za-z_])", re.ASCII)
"""The mark of a statement that an inference guessed."""
_LIST = re.compile(r"(sizes|any)\s+([A-Za-z_].*)", re.ASCII)
_VALUES = re.compile(r"values\s+([A-Za-z_]\w*(?:\.\d+)*)\s*:(.*)\.\.(.*)", re.ASCII)
_EXTENT = re.compile(r"([A-Za-z_]\w*(?:\.\d+)*)\s*:(.*)", re.ASCII)
_FIXED = re.compile(r"([A-Za-z_]\w*(?:\.\d+)*)\s*=(?!=)(.*)", re.ASCII)
_FUNCTIONS = frozenset({"cdiv", "min", "max"})
_COMPARISONS = (ast.LtE, ast.Lt, ast.GtE, ast.Gt, ast.Eq)


class UnreadContract(Exception):
    """A contract's text that this reader does not read; the message names the part."""


class Illegal(Exception):
    """Sizes at which the contract means nothing: it divides by less than 1."""


def _divided(a: int, b: int) -> int:
    if b < 1:
        raise Illegal
    return a // b


def _remainder(a: int, b: int) -> int:
    if b < 1:
        raise Illegal
    return a % b


_MEANINGS: Mapping[str, Callable[[int, int], int]] = {
    "f_cdiv": lambda a, b: -_divided(-a, b),
    "f_min": min,
    "f_max": max,
    "f_div": _divided,
    "f_mod": _remainder,
}
_GLOBALS: dict[str, Any] = {"__builtins__": {}, **_MEANINGS}


@dataclass(frozen=True)
class Term:
    """An expression, or a chain of comparisons, and the names in it."""

    code: CodeType
    names: frozenset[str]
    divisors: tuple[Term, ...] = ()
    """Its divisors."""

    def value(self, names: Mapping[str, int]) -> int:
        """Return its value where `names` have these; a comparison is 0 or 1. Raises Illegal."""
        return int(eval(self.code, _GLOBALS, names))  # noqa: S307 - checked


@dataclass(frozen=True)
class WholeRange:
    """The values in a buffer: from `low` on, below `high`."""

    low: Term
    high: Term


@dataclass(frozen=True)
class Relation:
    """`holds` is 1 where the statement is kept; `gap` is its left side less its right side."""

    holds: Term
    gap: Term


@dataclass
class ContractText:
    """The statements of a contract. Names are those of the text, with `.` written as `__`."""

    sizes: list[str] = field(default_factory=list)
    anything: set[str] = field(default_factory=set)
    fixed: dict[str, Term] = field(default_factory=dict)
    extents: dict[str, Term] = field(default_factory=dict)
    values: dict[str, WholeRange] = field(default_factory=dict)
    relations: list[Relation] = field(default_factory=list)
    grid: list[Term] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    """The integers in the text."""


def identifier(name: str) -> str:
    """Return a contract's name as Python spells it."""
    return "v_" + name.replace(".", "__")


def read_contract_text(text: str) -> ContractText:
    """Return the statements of a contract. Raises UnreadContract."""
    if len(text) > MAX_CHARACTERS:
        message = "the contract is too long"
        raise UnreadContract(message)
    contract = ContractText()
    for line in text.splitlines():
        statement = line.partition("#")[0].strip()
        guessed = _GUESSED.match(statement)
        statement = statement if guessed is None else statement[guessed.end() :]
        if statement:
            _read(contract, statement)
            contract.numbers |= {int(number) for number in re.findall(r"\b\d+\b", statement)}
    if not contract.grid:
        contract.grid.append(_term("1"))
    return contract


def _read(contract: ContractText, line: str) -> None:
    if match := _LIST.fullmatch(line):
        names = [identifier(name) for name in _NAME.findall(match[2])]
        if match[1] == "sizes":
            contract.sizes += names
        else:
            contract.anything |= set(names)
    elif match := _VALUES.fullmatch(line):
        contract.values[identifier(match[1])] = WholeRange(_term(match[2]), _term(match[3]))
    elif match := _EXTENT.fullmatch(line):
        if match[1] == "grid":
            contract.grid += [_checked(term) for term in _parsed_list(match[2])]
        else:
            contract.extents[identifier(match[1])] = _term(match[2])
    elif match := _FIXED.fullmatch(line):
        contract.fixed[identifier(match[1])] = _term(match[2])
    else:
        contract.relations += _relations(line)


def _term(text: str) -> Term:
    return _checked(_parsed(text))


def _relations(text: str) -> list[Relation]:
    """Return the comparisons of a chain, each for itself."""
    chain = _parsed(text)
    if not isinstance(chain, ast.Compare):
        message = f"the contract's words {text[:80]!r}"
        raise UnreadContract(message)
    sides = [chain.left, *chain.comparators]
    return [
        Relation(
            _checked(ast.Compare(left, [op], [right])),
            _checked(ast.BinOp(left, ast.Sub(), right)),
        )
        for left, op, right in zip(sides, chain.ops, sides[1:], strict=False)
    ]


def _parsed(text: str) -> ast.expr:
    def spelled(match: re.Match[str]) -> str:
        is_call = text[match.end() :].lstrip().startswith("(")
        return f"f_{match[0]}" if is_call and match[0] in _FUNCTIONS else identifier(match[0])

    try:
        return ast.parse(_ZEROS.sub("", _NAME.sub(spelled, text)).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = f"the contract's words {text.strip()[:80]!r}"
        raise UnreadContract(message) from None


def _parsed_list(text: str) -> Sequence[ast.expr]:
    whole = _parsed(f"({text},)")
    assert isinstance(whole, ast.Tuple)
    return whole.elts


def _checked(tree: ast.expr) -> Term:
    divisors: list[Term] = []
    rewritten = ast.Expression(_rewritten(tree, divisors))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id[0] == "v"}
    ast.fix_missing_locations(rewritten)
    return Term(compile(rewritten, "<contract>", "eval"), frozenset(names), tuple(divisors))


def _rewritten(node: ast.expr, divisors: list[Term]) -> ast.expr:
    """Return the same arithmetic with divisions that refuse what is below 1."""
    match node:
        case ast.Constant(value=int()):
            return node
        case ast.Name():
            return node
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return ast.UnaryOp(ast.USub(), _rewritten(inner, divisors))
        case ast.BinOp(left=a, op=(ast.Add() | ast.Sub() | ast.Mult()) as operator, right=b):
            return ast.BinOp(_rewritten(a, divisors), operator, _rewritten(b, divisors))
        case ast.BinOp(left=a, op=(ast.FloorDiv() | ast.Mod()) as operator, right=b):
            name = "f_div" if isinstance(operator, ast.FloorDiv) else "f_mod"
            return _call(name, a, b, divisors)
        case ast.Call(func=ast.Name(id=name), args=[a, b], keywords=[]) if name in _MEANINGS:
            return _call(name, a, b, divisors)
        case ast.Compare(left=a, ops=ops, comparators=others):
            if all(isinstance(op, _COMPARISONS) for op in ops):
                compared = [_rewritten(operand, divisors) for operand in others]
                return ast.Compare(_rewritten(a, divisors), ops, compared)
    message = f"the contract's words {ast.unparse(node)[:80]!r}"
    raise UnreadContract(message)


def _call(name: str, a: ast.expr, b: ast.expr, divisors: list[Term]) -> ast.expr:
    if name in ("f_div", "f_mod", "f_cdiv"):
        divisors.append(_checked(b))
    function = ast.Name(name, ast.Load())
    return ast.Call(function, [_rewritten(a, divisors), _rewritten(b, divisors)], [])


@dataclass(frozen=True)
class LegalLaunch:
    """A launch that keeps a contract: the scalars and sizes by name, and what follows from them."""

    scalars: Mapping[str, int]
    sizes: Mapping[str, int]
    """The contract's own sizes."""
    extents: Mapping[str, int]
    """Elements of each buffer."""
    ranges: Mapping[str, range]
    """The values of buffers that have any range of them."""
    grid: tuple[int, int, int]
    """0 along an axis where no program runs."""

    def names(self) -> dict[str, int]:
        """Return everything that a message needs to name this launch."""
        axes = zip("xyz", self.grid, strict=True)
        return {**self.scalars, **self.sizes, **{f"grid.{axis}": size for axis, size in axes}}
