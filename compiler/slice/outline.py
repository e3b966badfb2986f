"""A module as units to keep or blank: its top-level statements, with their lines."""

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from compiler.slice import decorators, names
from compiler.slice.decorators import RemovedDecorator
from compiler.slice.jit_decorator import Aliases
from compiler.slice.scopes import Mention, Reading, stored


@dataclass
class Unit:
    """One top-level statement, or several that share lines, with what they bind and mention."""

    nodes: list[ast.stmt]
    first_line: int
    last_line: int
    reading: Reading
    left_out: list[RemovedDecorator] = field(default_factory=list)
    """Decorators that are blanked; `reading` lacks their mentions."""
    unread: list[Mention] = field(default_factory=list)
    """The mentions of these decorators."""

    @property
    def binds(self) -> set[str]:
        """The names that running it binds."""
        return self.reading.binds

    @property
    def mentions(self) -> Iterator[Mention]:
        """All mentions of running it, and of calling its definitions."""
        yield from self.reading.now
        yield from self.reading.later

    @property
    def defines(self) -> bool:
        """True if it only defines a function or a class, whose body runs when it is used."""
        return all(isinstance(node, _DEFINITIONS) for node in self.nodes)


@dataclass(frozen=True)
class Outline:
    """All units of a module, in order."""

    units: list[Unit]

    @property
    def statements(self) -> Iterator[ast.stmt]:
        """The top-level statements, in order."""
        for unit in self.units:
            yield from unit.nodes


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def outline(
    tree: ast.Module,
    lines: Sequence[str],
    aliases: Aliases,
    is_foreign: Callable[[ast.expr], bool],
    *,
    tuned: bool = False,
) -> Outline:
    """Return the units of `tree`, whose text is `lines`.

    `is_foreign` tells decorators of packages that are not here; with `tuned`, those that act at
    launch are read like all else.
    """
    postponed = any(_postpones_annotations(node) for node in tree.body)
    is_main = not any("__name__" in stored([node]) for node in tree.body)
    units: list[Unit] = []
    for position, node in enumerate(tree.body):
        left_out = decorators.left_out(node, lines, aliases, is_foreign, tuned=tuned)
        running = _running(node, left_out, imported=is_main)
        reading = names.read(running, annotations=not postponed)
        if position == 0 and _is_docstring(node):
            reading.binds.add("__doc__")
        end = node.end_lineno or node.lineno
        last = units[-1].last_line if units else 0
        unread = [m for item in left_out for m in names.read(ast.Expr(item.node)).now]
        if units and (node.lineno <= last or _goes_on(lines[last - 1])):
            _merge(units[-1], Unit([node], node.lineno, end, reading, left_out, unread))
        else:
            first = _first_line(lines, last, node)
            units.append(Unit([node], first, end, reading, left_out, unread))
    return Outline(units)


def _running(node: ast.stmt, left_out: Sequence[RemovedDecorator], *, imported: bool) -> ast.stmt:
    """Return the parts of a statement that run when the module is imported."""
    if left_out:
        unread = [item.node for item in left_out]
        bare = copy.copy(node)
        assert isinstance(bare, ast.FunctionDef)
        bare.decorator_list = [item for item in bare.decorator_list if item not in unread]
        return bare
    if imported and is_main_block(node):
        return ast.copy_location(ast.If(ast.Constant(False), [ast.Pass()], node.orelse), node)
    return node


def is_main_block(node: ast.stmt) -> TypeGuard[ast.If]:
    """Return whether a statement is `if __name__ == "__main__":`, which imports do not enter."""
    match node:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            )
        ):
            return True
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _postpones_annotations(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


def _goes_on(line: str) -> bool:
    """Return whether a line may be joined with the next one by a backslash."""
    return line.rstrip().endswith("\\")


def _first_line(lines: Sequence[str], after: int, node: ast.stmt) -> int:
    """Return the line that a statement begins on: its first decorator's `@`, brackets and all.

    Between two statements there are but empty lines and comments, so it is the first other one.
    """
    for number in range(after + 1, node.lineno):
        text = lines[number - 1].strip()
        if text and not text.startswith("#"):
            return number
    return node.lineno


def _merge(unit: Unit, other: Unit) -> None:
    unit.nodes += other.nodes
    unit.last_line = max(unit.last_line, other.last_line)
    unit.left_out += other.left_out
    unit.unread += other.unread
    unit.reading.binds |= other.reading.binds
    unit.reading.later_binds |= other.reading.later_binds
    unit.reading.now += other.reading.now
    unit.reading.later += other.reading.later
    unit.reading.raises |= other.reading.raises
    unit.reading.uses_own |= other.reading.uses_own
