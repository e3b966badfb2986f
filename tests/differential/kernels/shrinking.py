"""Makes a kernel that disagrees smaller while it still does: fewer statements, smaller trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from tests.differential.kernels.blocks import Block
from tests.differential.kernels.exact_numbers import Undefined
from tests.differential.kernels.kernel import Kernel, answer
from tests.differential.kernels.statements import Expected, Statement
from tests.differential.kernels.tiles import Node

_MAX_TRIES = 400
Disagrees = Callable[[Kernel, Expected | None], bool]


def shrunk(kernel: Kernel, disagrees: Disagrees) -> Kernel:
    """Return a smaller kernel that still disagrees, or the same."""
    tries = _MAX_TRIES
    found = True
    while found:
        found = False
        for smaller in _smaller(kernel):
            tries -= 1
            if tries < 0:
                return kernel
            if _still(smaller, disagrees):
                kernel, found = smaller, True
                break
    return kernel


def _still(kernel: Kernel, disagrees: Disagrees) -> bool:
    try:
        return disagrees(kernel, answer(kernel))
    except (Undefined, KeyError):  # a variable may be gone
        return False
    except Exception as refused:  # noqa: BLE001 - a refused one is not a smaller one
        return refused is None


def _smaller(kernel: Kernel) -> Iterator[Kernel]:
    for body in _smaller_bodies(kernel.body):
        yield replace(kernel, body=body)
    width, height, _ = kernel.grid
    for grid in ((1, 1, 1), (width, 1, 1), (width, height, 1)):
        if grid < kernel.grid:
            yield replace(kernel, grid=grid)


def _smaller_bodies(body: Sequence[Statement]) -> Iterator[list[Statement]]:
    for place in reversed(range(len(body))):
        before, statement, after = list(body[:place]), body[place], list(body[place + 1 :])
        yield [*before, *after]
        instead = statement.without()
        if instead is not None and instead != statement:
            yield [*before, instead, *after]
        if isinstance(statement, Block):
            for inner in statement.bodies():
                yield [*before, *inner, *after]
        for smaller in _smaller_statements(statement):
            yield [*before, smaller, *after]


def _smaller_statements(statement: Statement) -> Iterator[Statement]:
    made: Any = statement
    for field in fields(made):
        value = getattr(made, field.name)
        if isinstance(value, Node):
            if field.name == "mask":
                yield replace(made, mask=None)
            for node in _smaller_nodes(value):
                yield replace(made, **{field.name: node})
        elif field.name in {"body", "orelse"}:
            for body in _smaller_bodies(value):
                yield replace(made, **{field.name: body})


def _smaller_nodes(node: Node) -> Iterator[Node]:
    for operand in node.operands:
        if operand.kind == node.kind and operand.shape == node.shape:
            yield operand
    if node.operation not in {"full", "literal", "name", "arange", "static"}:
        for value in (
            (True, False) if node.kind.is_bool else (0.0, 3.0) if node.kind.is_float else (0, 3)
        ):
            yield Node("full", node.kind, node.shape, (), {"value": value})
    for place, operand in enumerate(node.operands):
        for smaller in _smaller_nodes(operand):
            operands = (*node.operands[:place], smaller, *node.operands[place + 1 :])
            yield replace(node, operands=operands)
