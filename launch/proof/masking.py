"""Proposes masks for an access that leaves its buffer, in the source's own words.

Parses a user's source, as text: only in a child. Nothing is proved of a proposal yet.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator

_MASK_AT = {"load": 1, "store": 2}
"""The number of the argument that is the mask, where it has no name."""
_MOST_BORROWED = 3
_PLAIN = re.compile(r"[\w\s+*/()-]+", re.ASCII)


def masked(source: str, line: int, column: int, extent: str) -> Iterator[str]:
    """Yield the source with a mask at the access whose place is given, counted from 1.

    First masks that other accesses of the kernel have, then that the offset is below `extent`.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and _is_at(call, line, column) and source.isascii():
                for mask in _masks(function, call, extent):
                    yield _with_mask(source, call, mask)


def _is_at(call: ast.Call, line: int, column: int) -> bool:
    is_there = (call.lineno, call.col_offset + 1) == (line, column)
    is_access = isinstance(call.func, ast.Attribute) and call.func.attr in _MASK_AT
    return is_there and is_access and bool(call.args)


def _masks(function: ast.FunctionDef, call: ast.Call, extent: str) -> Iterator[str]:
    own = _mask_of(call)
    held = set(map(ast.unparse, _compared(own))) if own is not None else set[str]()
    before = [node for node in _compared(function) if node.lineno <= call.lineno]
    borrowed = dict.fromkeys(ast.unparse(node) for node in before)
    yield from [text for text in borrowed if text not in held][:_MOST_BORROWED]
    offset = _offset(call.args[0], {one.arg for one in function.args.args})
    names = {one.arg for one in function.args.args}
    is_said = _PLAIN.fullmatch(extent) is not None
    if offset and is_said and set(re.findall(r"[^\W\d]\w*", extent)) <= names:
        yield f"{offset} < {extent.strip()}"


def _compared(node: ast.AST) -> list[ast.Compare]:
    """Return the comparisons inside that a mask may be made of."""
    return [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Compare)
        and len(one.ops) == 1
        and isinstance(one.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    ]


def _offset(pointer: ast.expr, names: set[str]) -> str:
    """Return what is added to an argument, "" where the pointer is made otherwise."""
    parts: list[str] = []
    while isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add):
        parts.insert(0, ast.unparse(pointer.right))
        pointer = pointer.left
    is_argument = isinstance(pointer, ast.Name) and pointer.id in names
    return " + ".join(parts) if is_argument else ""


def _mask_of(call: ast.Call) -> ast.expr | None:
    assert isinstance(call.func, ast.Attribute)
    place = _MASK_AT[call.func.attr]
    named = [one.value for one in call.keywords if one.arg == "mask"]
    return named[0] if named else call.args[place] if len(call.args) > place else None


def _with_mask(source: str, call: ast.Call, mask: str) -> str:
    starts = [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]
    own = _mask_of(call)
    if own is None:
        row, column, text = _appended(source, call, mask)
        place = starts[row - 1] + column
        return f"{source[:place]}{text}{source[place:]}"
    first = starts[own.lineno - 1] + own.col_offset
    end = starts[(own.end_lineno or 0) - 1] + (own.end_col_offset or 0)
    return f"{source[:first]}({source[first:end]}) & ({mask}){source[end:]}"


def _appended(source: str, call: ast.Call, mask: str) -> tuple[int, int, str]:
    """Return a place behind the last argument of a call, and the text of one more.

    Tokens tell it: a comma, a comment or a parenthesis may stand behind the argument.
    """
    closing = call.end_lineno or 0, (call.end_col_offset or 0) - 1
    skipped = (tokenize.COMMENT, tokenize.NL)
    last = None
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.start >= closing:
            break
        last = token if token.type not in skipped else last
    assert last is not None
    comma = "" if last.string == "," else ","
    row, column = last.end
    lines = source.split("\n")
    is_alone = not lines[closing[0] - 1][: closing[1]].strip()
    if closing[0] == row or not is_alone:
        return row, column, f"{comma} mask={mask}"
    indent = lines[row - 1][: -len(lines[row - 1].lstrip())]
    return row, column, f"{comma}\n{indent}mask={mask},"
