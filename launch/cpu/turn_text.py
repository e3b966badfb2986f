"""Writes a run form's text for programs that take turns: generators that yield in waiting loops.

Only loops without a number wait (`scf.while`); a function that has or calls one becomes a
generator. The text is the compiler's own, never the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any


def text_in_turns(text: str) -> ast.Module:
    """Return the text's tree, whose functions yield after each decision of a loop to go on."""
    module = ast.parse(text)
    functions = {
        statement.name: statement
        for statement in module.body
        if isinstance(statement, ast.FunctionDef)
    }
    passed = {name for function in functions.values() for name in _passed(function)}
    waiting: set[str] = set()
    while True:
        further = {
            name
            for name, function in functions.items()
            if name not in waiting | passed
            and any(_waits(node) or _called(node) in waiting for node in _own(function))
        }
        if not further:
            break
        waiting |= further
    for name in waiting:
        _Turning(waiting).generic_visit(functions[name])
    return ast.fix_missing_locations(module)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, except those of functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
            pending += ast.iter_child_nodes(node)


def _called(node: ast.AST) -> str | None:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if is_call else None  # type: ignore[attr-defined]


def _passed(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function uses as values, or in functions that it defines."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    counts = [_called(node) for node in _own(function)]
    loads = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
    return {name for name in names if loads.count(name) > counts.count(name)}


def _waits(node: ast.AST) -> bool:
    """Return True for `if not rounds.go_on(...):`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.UnaryOp)
        and isinstance(node.test.operand, ast.Call)
        and isinstance(node.test.operand.func, ast.Attribute)
        and node.test.operand.func.attr == "go_on"
    )


class _Turning(ast.NodeTransformer):
    def __init__(self, waiting: set[str]) -> None:
        self._waiting = waiting

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if not _waits(node):
            return node
        return [node, ast.copy_location(ast.Expr(ast.Yield(None)), node)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _called(node) not in self._waiting:
            return node
        return ast.copy_location(ast.YieldFrom(node), node)
