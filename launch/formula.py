"""Parses formulas in requests: bounded by length, characters, nesting and terms.

Grids and the expressions of sweeps are this service's own grammars: read with Python's parser and
walked node by node, where what is not on the list is refused. Nothing is evaluated as Python.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_NESTING: Final = 128
"""Brackets within brackets, and operators within operators: what reads them is recursive."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBER_LIKE = re.compile(r"(?<!\w)\d\w*", re.ASCII)
_NUMBER = re.compile(r"\d+(?:e\d*)?", re.ASCII)


class FormulaFailed(ValueError):
    """The formula is none, or has no value; the message says why."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits that a text must meet before Python's parser sees it; `grammar` is for messages."""

    max_chars: int
    max_nodes: int
    characters: re.Pattern[str]
    grammar: str


def parsed(text: str, bounds: Bounds) -> ast.expr:
    """Return the tree of a formula, of which no node was looked at.

    Raises FormulaFailed for texts that are too long, too deep, too large, or not an expression.
    """
    if len(text) > bounds.max_chars:
        raise FormulaFailed(f"longer than {bounds.max_chars} characters")
    bare = _QUOTED.sub("''", text)
    if not bounds.characters.fullmatch(text) or not all(
        map(_NUMBER.fullmatch, _NUMBER_LIKE.findall(bare))
    ):
        raise FormulaFailed(bounds.grammar)
    if _brackets(bare) > MAX_NESTING:
        raise FormulaFailed(f"not an expression that is read: over {MAX_NESTING} brackets deep")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaFailed(f"not an expression; {bounds.grammar}") from None
    for count, depth in enumerate(_depths(tree), 1):
        if count > bounds.max_nodes:
            raise FormulaFailed(f"more than {bounds.max_nodes} terms and operators")
        if depth > MAX_NESTING:
            raise FormulaFailed(f"more than {MAX_NESTING} operators within each other")
    return tree


def cdiv(a: int, b: int) -> int:
    """Return Triton's `cdiv`. Raises ZeroDivisionError."""
    return (a + b - 1) // b


def next_power_of_2(a: int) -> int:
    """Return Triton's `next_power_of_2`: the least power of 2 from `a` on, 0 for none above 0."""
    return 1 << (a - 1).bit_length() if a > 0 else 0


def _brackets(text: str) -> int:
    """Return how deep brackets are open."""
    deepest = depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _depths(tree: ast.AST) -> Iterator[int]:
    """Yield the depth of every node, with an explicit stack."""
    left: list[tuple[ast.AST, int]] = [(tree, 1)]
    while left:
        node, depth = left.pop()
        yield depth
        left.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
