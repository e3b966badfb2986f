"""The line of a reference that a complaint of what it returned belongs to."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from compiler.excerpt import Span, diagnostic, excerpt
from compiler.making.failure import Failure


def at_return(failure: Failure, text: str, function: str, file: str) -> Failure:
    """Return the failure at the only `return` of a function of `text`, or else at its `def`."""
    defined = [node for node in ast.parse(text).body if _is_called(node, function)]
    if not defined:
        return failure
    returns = list(_returns(defined[-1]))
    line = returns[0].lineno if len(returns) == 1 else defined[-1].lineno
    shown = excerpt(linecache.getlines(file), Span(file, line))
    span = Span(file.rpartition("/")[2], line)
    found = diagnostic("error", "frontend", failure.message, span=span, excerpt=shown)
    return Failure(failure.slug, failure.stage, f"line {line}: {failure.message}", [found])


def _is_called(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    """Yield the `return` statements of a function itself."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield from _returns(child)
