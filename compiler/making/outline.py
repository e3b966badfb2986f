"""A module as units to keep or blank: top-level statements, and those in `if` and `try`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compiler.making import names
from compiler.making.jit import Aliases, JitDecorator


@dataclass(frozen=True)
class Block:
    """The header of an `if` or `try` around units; kept when one of its units is."""

    node: ast.stmt
    first_line: int
    last_line: int
    reads: frozenset[str]
    parent: Block | None


@dataclass
class Unit:
    """One or more statements that share lines, with what they bind and look up."""

    nodes: list[ast.stmt]
    first_line: int
    last_line: int
    column: int
    parent: Block | None
    binds: frozenset[str]
    reads: frozenset[str]
    jit: JitDecorator | None = None
    blanked: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Outline:
    """All units of a module in order, and each nested body's own (an empty one needs a `pass`)."""

    units: list[Unit]
    bodies: list[tuple[Block, list[Unit]]]


def outline(tree: ast.Module, lines: Sequence[str], aliases: Aliases) -> Outline:
    """Return the units of `tree`, whose text is `lines`."""
    builder = _Builder(lines, aliases)
    builder.add(tree.body, None)
    return Outline(builder.units, builder.bodies)


class _Builder:
    def __init__(self, lines: Sequence[str], aliases: Aliases) -> None:
        self._lines = lines
        self._aliases = aliases
        self.units: list[Unit] = []
        self.bodies: list[tuple[Block, list[Unit]]] = []

    def add(self, body: list[ast.stmt], parent: Block | None) -> list[Unit]:
        """Append the units of one block, those of nested blocks included; return them all."""
        added: list[Unit] = []
        for node in body:
            if added and _first_line(node) <= added[-1].last_line:
                _merge(added[-1], self._unit(node, parent))
            elif isinstance(node, (ast.If, ast.Try)) and not self._shares_lines(node):
                added += self._nested(node, parent)
            else:
                added.append(self._unit(node, parent))
                self.units.append(added[-1])
        return added

    def _nested(self, node: ast.If | ast.Try, parent: Block | None) -> list[Unit]:
        block = Block(node, node.lineno, _end(node), _header_reads(node), parent)
        groups = [body for body in _bodies(node) if not self._is_elif(body[0])]
        own: list[tuple[Block, list[Unit]]] = [(block, []) for _ in groups]
        self.bodies += own  # outer blocks before inner ones
        added: list[Unit] = []
        for (_, units), body in zip(own, groups, strict=True):
            units += self.add(body, block)
            added += units
        for body in _bodies(node):
            if self._is_elif(body[0]):
                added += self.add(body, block)
        return added

    def _is_elif(self, node: ast.stmt) -> bool:
        text = self._lines[node.lineno - 1].encode()[node.col_offset :]
        return isinstance(node, ast.If) and text.startswith(b"elif")

    def _shares_lines(self, node: ast.If | ast.Try) -> bool:
        """Return whether a nested statement stands on a line with something in front of it."""
        for body in _bodies(node):
            first = body[0]
            text = self._lines[_first_line(first) - 1].encode()[: _column(first)]
            if text.strip():
                return True
        return False

    def _unit(self, node: ast.stmt, parent: Block | None) -> Unit:
        decorator = self._aliases.decorator_of(node)
        blanked, parts = [], [node]
        if isinstance(node, ast.FunctionDef) and decorator is not None:
            above = node.decorator_list[: decorator.index]
            blanked = [(item.lineno, item.end_lineno or item.lineno) for item in above]
            bare = copy.copy(node)
            bare.decorator_list = node.decorator_list[decorator.index :]
            parts = [bare]
        return Unit(
            [node], _first_line(node), _end(node), _column(node), parent,
            names.bound(node), names.looked_up(parts), decorator, blanked,
        )  # fmt: skip


def _merge(unit: Unit, other: Unit) -> None:
    unit.nodes += other.nodes
    unit.last_line = max(unit.last_line, other.last_line)
    unit.binds |= other.binds
    unit.reads |= other.reads
    unit.blanked += other.blanked


def _bodies(node: ast.If | ast.Try) -> Iterator[list[ast.stmt]]:
    groups = [node.body, *(handler.body for handler in getattr(node, "handlers", []))]
    groups += [node.orelse, getattr(node, "finalbody", [])]
    return (group for group in groups if group)


def _header_reads(node: ast.If | ast.Try) -> frozenset[str]:
    if isinstance(node, ast.If):
        return names.looked_up([node.test])
    return names.looked_up([handler.type for handler in node.handlers if handler.type])


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _column(node: ast.stmt) -> int:
    return node.col_offset


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
