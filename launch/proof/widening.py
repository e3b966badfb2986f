"""Proposes where a source may compute in 64 bits, so that an integer does not wrap.

Parses a user's source, as text: only in a child.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_OPERATORS: dict[str, type[ast.operator]] = {
    "arith.muli": ast.Mult,
    "arith.addi": ast.Add,
    "arith.subi": ast.Sub,
}
_LANGUAGE = "triton.language"


def widened(source: str, operation: str, line: int, column: int) -> Iterator[str]:
    """Yield the source with one operand of an operation made 64 bits wide: left, then right.

    Where a product is an operand of a sum, its own operands come first, since it may wrap as well.
    `operation` is that of MLIR whose result wraps; line and column are its place, from 1.
    """
    operator = _OPERATORS.get(operation)
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    alias = _alias_of_language(tree)
    if operator is None or alias is None:
        return
    lines = source.splitlines(keepends=True)
    for node in ast.walk(tree):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, operator):
            continue
        if (node.lineno, _characters(lines, node.lineno, node.col_offset) + 1) != (line, column):
            continue
        for operand in _operands(node):
            made = _replaced(lines, operand, alias)
            if made is not None:
                yield made


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


def _characters(lines: list[str], line: int, octets: int) -> int:
    """Return a column in characters; Python's trees count octets of UTF-8."""
    return len(lines[line - 1].encode()[:octets].decode(errors="replace"))


def _replaced(lines: list[str], node: ast.expr, alias: str) -> str | None:
    """Return the source with an operand widened; None for a number, or one over several lines."""
    if isinstance(node, ast.Constant) or node.end_lineno != node.lineno:
        return None
    first = _characters(lines, node.lineno, node.col_offset)
    end = _characters(lines, node.lineno, node.end_col_offset or 0)
    text = lines[node.lineno - 1]
    inner = text[first:end]
    is_plain = isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    wide = f"{inner if is_plain else f'({inner})'}.to({alias}.int64)"
    changed = text[:first] + wide + text[end:]
    return "".join([*lines[: node.lineno - 1], changed, *lines[node.lineno :]])
