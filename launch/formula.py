"""Parses the formulas of a request, with limits for length, characters, nesting and terms.

Grids and the expressions of sweeps have their own small grammars. Python's parser reads them, and
a walk over the tree rejects every node that is not on the list. Python never evaluates them.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MAX_NESTING: Final = 128
"""The limit for nested brackets and operators, because the parser is recursive."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBER_LIKE = re.compile(r"(?<!\w)\d\w*", re.ASCII)
_NUMBER = re.compile(r"\d+(?:e\d*)?", re.ASCII)


class FormulaFailed(ValueError):
    """The formula is invalid or has no value; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for a text before Python's parser sees it; `grammar` describes the valid form."""

    max_chars: int
    max_nodes: int
    characters: re.Pattern[str]
    grammar: str


def parsed(text: str, bounds: Bounds) -> ast.expr:
    """Return the unchecked tree of a formula.

    Raises FormulaFailed for a text that is too long, too deep, too large, or no expression.
    """
    if len(text) > bounds.max_chars:
        raise FormulaFailed(f"longer than {bounds.max_chars} characters")
    bare = _QUOTED.sub("''", text)
    if not bounds.characters.fullmatch(text) or not all(
        map(_NUMBER.fullmatch, _NUMBER_LIKE.findall(bare))
    ):
        raise FormulaFailed(bounds.grammar)
    if _brackets(bare) > MAX_NESTING:
        raise FormulaFailed(f"brackets nest more than {MAX_NESTING} deep")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaFailed(f"not an expression; {bounds.grammar}") from None
    for count, depth in enumerate(_depths(tree), 1):
        if count > bounds.max_nodes:
            raise FormulaFailed(f"more than {bounds.max_nodes} terms and operators")
        if depth > MAX_NESTING:
            raise FormulaFailed(f"operators nest more than {MAX_NESTING} deep")
    return tree


def cdiv(a: int, b: int) -> int:
    """Return Triton's `cdiv`. Raises ZeroDivisionError."""
    return (a + b - 1) // b


def next_power_of_2(a: int) -> int:
    """Return Triton's `next_power_of_2`: the least power of 2 >= `a`, or 0 if `a` <= 0."""
    return 1 << (a - 1).bit_length() if a > 0 else 0


def _brackets(text: str) -> int:
    """Return the nesting depth of brackets."""
    deepest = depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest


def _depths(tree: ast.AST) -> Iterator[int]:
    """Yield the depth of every node, without recursion."""
    left: list[tuple[ast.AST, int]] = [(tree, 1)]
    while left:
        node, depth = left.pop()
        yield depth
        left.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
