"""Proposes masks for an access that leaves its buffer, in the source's own words.

Parses a user's source, as text: only in a child. Nothing is proved of a proposal yet.
"""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator, Sequence

_MASK_AT = {"load": 1, "store": 2}
"""The number of the argument that is the mask, where it has no name."""
_OTHER_AT = 2
"""The number of the argument that is `other`, where it has no name."""
_MAX_BORROWED = 3
_OTHERS = ("0.0", '-float("inf")')
"""Values for masked lanes that sums, or maxima and sums of `exp`, do not notice."""
_PLAIN = re.compile(r"[\w\s+*/()-]+", re.ASCII)


def masked(source: str, line: int, column: int, extent: str) -> Iterator[str]:
    """Yield the source with a mask at the access whose place is given, counted from 1.

    First its own mask with `<` for a `<=`. Then, of a tile without a mask, the rows and columns,
    or the whole mask of another access. Then that the offset is below `extent`, and comparisons
    that the kernel makes. A load without `other` gets each mask as it is, and then with each
    `other` of a few.
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
                yield from _with_less(source, function, call)
                for mask in dict.fromkeys(_masks(function, call, extent)):
                    yield from _with_mask(source, call, mask)


def _is_at(call: ast.Call, line: int, column: int) -> bool:
    return (call.lineno, call.col_offset + 1) == (line, column) and _is_access(call)


def _is_access(call: ast.Call) -> bool:
    is_access = isinstance(call.func, ast.Attribute) and call.func.attr in _MASK_AT
    return is_access and bool(call.args)


def _masks(function: ast.FunctionDef, call: ast.Call, extent: str) -> Iterator[str]:
    own = _mask_of(call)
    held = set(map(ast.unparse, _compared(own))) if own is not None else set[str]()
    before = [node for node in _compared(function) if node.lineno <= call.lineno]
    borrowed = dict.fromkeys(ast.unparse(node) for node in before)
    names = {parameter.arg for parameter in function.args.args}
    if own is None:
        yield from _tile(_terms(call.args[0], names), extent)
        yield from _whole(function, call.lineno)
    offset = " + ".join(map(ast.unparse, _terms(call.args[0], names)))
    is_said = _PLAIN.fullmatch(extent) is not None
    if offset and is_said and set(re.findall(r"[^\W\d]\w*", extent)) <= names:
        yield f"{offset} < {extent.strip()}"
    yield from [text for text in borrowed if text not in held][:_MAX_BORROWED]


def _compared(node: ast.AST) -> list[ast.Compare]:
    """Return the comparisons inside that a mask may be made of."""
    return [
        comparison
        for comparison in ast.walk(node)
        if isinstance(comparison, ast.Compare)
        and len(comparison.ops) == 1
        and isinstance(comparison.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    ]


def _terms(pointer: ast.expr, names: set[str]) -> list[ast.expr]:
    """Return what is added to an argument, nothing where the pointer is made otherwise."""
    parts: list[ast.expr] = []
    while isinstance(pointer, ast.BinOp) and isinstance(pointer.op, ast.Add):
        parts.insert(0, pointer.right)
        pointer = pointer.left
    is_argument = isinstance(pointer, ast.Name) and pointer.id in names
    return parts if is_argument else []


def _tile(terms: Sequence[ast.expr], extent: str) -> Iterator[str]:
    """Yield the mask of `rows * N + columns` in a buffer of `M * N`."""
    match terms, [part.strip() for part in extent.split("*")]:
        case [ast.BinOp(left=rows, op=ast.Mult(), right=ast.Name(id=stride)), columns], [height, n]:
            if stride == n and height.isidentifier():
                first, second = ast.unparse(_narrow(rows)), ast.unparse(columns)
                yield f"({first} < {height}) & ({second} < {n})"


def _narrow(node: ast.expr) -> ast.expr:
    """Return `rows` for `rows.to(tl.int64)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr == "to" else node
    return node


def _whole(function: ast.FunctionDef, line: int) -> Iterator[str]:
    """Yield the first mask of another access with several comparisons, if it is known by `line`."""
    for call in ast.walk(function):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        mask = _mask_of(call) if call.func.attr in _MASK_AT else None
        made = _assigned(function, mask) if isinstance(mask, ast.Name) else mask
        is_known = made is not None and (made is mask or made.lineno < line)
        if mask is not None and made is not None and is_known and len(_compared(made)) > 1:
            yield ast.unparse(mask)
            return


def _assigned(function: ast.FunctionDef, name: ast.Name) -> ast.expr | None:
    """Return the value of a name that is assigned once."""
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id == name.id
    ]
    return values[0] if len(values) == 1 else None


def _with_less(source: str, function: ast.FunctionDef, call: ast.Call) -> Iterator[str]:
    """Yield the source with `<` for each `<=` of a call's mask, also where that has a name.

    First with the same comparison changed in all masks, then in its own alone.
    """
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    accesses = [node for node in calls if _is_access(node)]
    all_bounds = dict.fromkeys(node for each in accesses for node in _upper_bounds(function, each))
    for node in _upper_bounds(function, call):
        alike = [other for other in all_bounds if ast.unparse(other) == ast.unparse(node)]
        yield _less(source, alike)
        if len(alike) > 1:
            yield _less(source, [node])


def _upper_bounds(function: ast.FunctionDef, call: ast.Call) -> list[ast.Compare]:
    """Return the comparisons with `<=` of a call's mask."""
    own = _mask_of(call)
    if own is None:
        return []
    named = [node for node in ast.walk(own) if isinstance(node, ast.Name)]
    parts = [own, *filter(None, (_assigned(function, name) for name in named))]
    comparisons = dict.fromkeys(node for part in parts for node in _compared(part))
    return [node for node in comparisons if isinstance(node.ops[0], ast.LtE)]


def _less(source: str, comparisons: Sequence[ast.Compare]) -> str:
    starts = _starts(source)
    for node in sorted(comparisons, key=lambda each: (each.lineno, each.col_offset), reverse=True):
        end_line, end_column = node.left.end_lineno or 0, node.left.end_col_offset or 0
        first = starts[end_line - 1] + end_column
        last = starts[node.comparators[0].lineno - 1] + node.comparators[0].col_offset
        source = source[:first] + source[first:last].replace("<=", "<", 1) + source[last:]
    return source


def _starts(source: str) -> list[int]:
    """Return the position of the first character of each line."""
    return [0, *itertools.accumulate(len(line) + 1 for line in source.split("\n"))]


def _mask_of(call: ast.Call) -> ast.expr | None:
    assert isinstance(call.func, ast.Attribute)
    place = _MASK_AT[call.func.attr]
    named = [keyword.value for keyword in call.keywords if keyword.arg == "mask"]
    return named[0] if named else call.args[place] if len(call.args) > place else None


def _has_other(call: ast.Call) -> bool:
    return len(call.args) > _OTHER_AT or any(keyword.arg == "other" for keyword in call.keywords)


def _with_mask(source: str, call: ast.Call, mask: str) -> Iterator[str]:
    """Yield the source with a mask at a call; for a load without `other`, also with some."""
    assert isinstance(call.func, ast.Attribute)
    starts, own = _starts(source), _mask_of(call)
    others = _OTHERS if call.func.attr == "load" and not _has_other(call) else ()
    for other in ("", *others):
        made = source
        if own is None or other:
            added = [
                *([f"mask={mask}"] if own is None else []),
                *([f"other={other}"] if other else []),
            ]
            row, column, text = _appended(source, call, added)
            place = starts[row - 1] + column
            made = f"{source[:place]}{text}{source[place:]}"
        if own is not None:
            first = starts[own.lineno - 1] + own.col_offset
            end = starts[(own.end_lineno or 0) - 1] + (own.end_col_offset or 0)
            is_none = isinstance(own, ast.Constant) and own.value is None
            whole = mask if is_none else f"({made[first:end]}) & ({mask})"
            made = f"{made[:first]}{whole}{made[end:]}"
        yield made


def _appended(source: str, call: ast.Call, added: Sequence[str]) -> tuple[int, int, str]:
    """Return a place behind the last argument of a call, and the text of more of them.

    Read from tokens: a comma, a comment or a parenthesis may follow the argument.
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
        return row, column, f"{comma} {', '.join(added)}"
    indent = lines[row - 1][: -len(lines[row - 1].lstrip())]
    return row, column, comma + "".join(f"\n{indent}{argument}," for argument in added)
