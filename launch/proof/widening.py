"""Proposes where a source may compute in 64 bits, so that no integer wraps.

Parses a user's source, as text: only in a child.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import StringIO
from itertools import accumulate

_OPERATORS: dict[str, type[ast.operator]] = {
    "arith.muli": ast.Mult,
    "arith.addi": ast.Add,
    "arith.subi": ast.Sub,
}
_LANGUAGE = "triton.language"
Place = tuple[str, int, int]
"""An operation of MLIR whose result wraps, and its line and column, from 1."""
_Edit = tuple[int, int, str]
"""The positions of the first character and of the one after the last, and the new text."""


def widened(source: str, places: Sequence[Place], constants: Collection[str]) -> Iterator[str]:
    """Yield the source with one operand of each operation made 64 bits wide: left, then right.

    First at all places, and wherever their functions compute the same, since the compiler keeps
    one of equal operations; then at the first place alone. Where a product is an operand of a sum,
    its own operands come first, since it may wrap as well. `constants` have no width.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    alias = _alias_of_language(tree)
    if alias is None:
        return
    text = _Text(source)
    edits = dict[ast.BinOp, list[_Edit]]()
    for place in places:
        for node in _alike(text, tree, place):
            if node not in edits:
                edits[node] = list(_edits(text, node, alias, constants))
        if not any(edits.values()):
            return
    [first, *others] = filter(None, edits.values())
    for number in range(len(first)):
        yield text.edited([each[min(number, len(each) - 1)] for each in (first, *others)])
    if others:
        yield from (text.edited([edit]) for edit in first)


def _alike(text: _Text, tree: ast.Module, place: Place) -> Iterator[ast.BinOp]:
    """Yield the operation at a place, and then those of its function that are written alike."""
    name, line, column = place
    operator = _OPERATORS.get(name)
    nodes = [
        node
        for statement in tree.body
        if operator is not None and statement.lineno <= line <= (statement.end_lineno or 0)
        for node in ast.walk(statement)
        if isinstance(node, ast.BinOp) and isinstance(node.op, operator)
    ]
    for node in nodes:
        if node.lineno == line and text.characters(line, node.col_offset) + 1 == column:
            own = _written(text, node)
            yield node
            yield from (other for other in nodes if _written(text, other) == own)


def _written(text: _Text, node: ast.BinOp) -> list[str]:
    """Return the operands as they are written, sorted where their order does not matter."""
    operands = [text.without_spaces(operand) for operand in (node.left, node.right)]
    return operands if isinstance(node.op, ast.Sub) else sorted(operands)


def _edits(text: _Text, node: ast.BinOp, alias: str, constants: Collection[str]) -> Iterator[_Edit]:
    """Yield the edits that widen one operand each, but no constant or one over several lines."""
    for operand in _operands(node):
        is_constant = isinstance(operand, ast.Name) and operand.id in constants
        if isinstance(operand, ast.Constant) or is_constant or operand.end_lineno != operand.lineno:
            continue
        first, end = text.span(operand)
        inner = text.source[first:end]
        is_plain = isinstance(operand, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
        yield first, end, f"{inner if is_plain else f'({inner})'}.to({alias}.int64)"


def _operands(node: ast.BinOp) -> Iterator[ast.expr]:
    for operand in (node.left, node.right):
        if isinstance(operand, ast.BinOp) and isinstance(operand.op, ast.Mult):
            yield from (operand.left, operand.right)
        yield operand


def _alias_of_language(tree: ast.Module) -> str | None:
    for node in tree.body:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name == _LANGUAGE and name.asname:
                    return name.asname
    return None


class _Text:
    """A source with the positions of its nodes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = list(StringIO(source, newline=""))  # as Python's parser counts them
        self._starts = [0, *accumulate(map(len, self._lines))]

    def characters(self, line: int, octets: int) -> int:
        """Return a column in characters; Python's trees count octets of UTF-8."""
        text = self._lines[line - 1]
        return octets if text.isascii() else len(text.encode()[:octets].decode(errors="replace"))

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Return the positions of a node's first character, and of the one after its last."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return (
            self._starts[node.lineno - 1] + self.characters(node.lineno, node.col_offset),
            self._starts[end_line - 1] + self.characters(end_line, end),
        )

    def without_spaces(self, node: ast.expr) -> str:
        """Return the text of a node without its spaces."""
        first, end = self.span(node)
        return "".join(self.source[first:end].split())

    def edited(self, edits: Iterable[_Edit]) -> str:
        """Return the source with edits; of those that overlap, with the first."""
        made, at = "", 0
        for first, end, new in sorted(edits):
            if first >= at:
                made, at = made + self.source[at:first] + new, end
        return made + self.source[at:]
