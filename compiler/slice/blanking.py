"""Reduces a module to what its kernel can see; lines out of reach are blanked, never removed.

A statement is left out only when it cannot matter: docs/explanation/correctness.md states the rule.
"""

import ast
import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.slice.effects import Effects
from compiler.slice.kinds import star_imports
from compiler.slice.outline import Outline, Unit
from compiler.slice.scopes import Imported
from compiler.slice.search import Search

BUILTINS = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__doc__",
    "__package__",
    "__spec__",
}
DECORATOR = "a decorator above @triton.jit"


@dataclass(frozen=True)
class SliceReach:
    """The units that may matter to a kernel, and the names that it reaches.

    `opaque` says what no reading of the text can follow: with it, nothing may be left out.
    """

    units: list[Unit]
    names: frozenset[str]
    opaque: frozenset[str]
    changed: Mapping[int, frozenset[str]]
    """The kernel's own names that a unit certainly changes in place, by the unit's `id`."""


def reach(outline: Outline, effects: Effects, roots: Iterable[str]) -> SliceReach:
    """Return the values reachable from the names `roots`, and statements that can change them."""
    search = Search(outline, effects)
    own = search.needed(roots)
    search.run()
    kept = [unit for unit in outline.units if id(unit) in search.kept]
    running = [m for unit in outline.units for m in effects.run_by(unit)]
    asked = [m for unit in outline.units for m in effects.asked_by(unit.unread, own)]
    unread = effects.follow(asked)
    opaque = effects.opaque(effects.follow(running)) | effects.opaque(unread)
    opaque |= effects.opaque([m for unit in kept for m in unit.mentions])
    if search.is_touched_by(effects.without_posted(unread)):
        opaque.add(DECORATOR)
    changed = {id(unit): own & effects.changes(unit) for unit in kept}
    return SliceReach(kept, frozenset(search.names), frozenset(opaque), changed)


def foreign_stars(units: Sequence[Unit], effects: Effects) -> list[tuple[Unit, str]]:
    """Return the units that import everything from a module that is not here, and the module."""
    found = ((unit, module) for unit in units for module in star_imports(unit))
    return [(u, m) for u, m in found if effects.is_foreign(Imported(m.split(".")[0], (), m))]


def blank(lines: Sequence[str], units: Sequence[Unit]) -> list[str] | None:
    """Return `lines` with all blanked but `units`; `None` if these would be read otherwise."""
    kept = [""] * len(lines)
    for unit in units:
        kept[unit.first_line - 1 : unit.last_line] = lines[unit.first_line - 1 : unit.last_line]
    return kept if _reads_alike(kept, units) else None


def without(lines: Sequence[str], ranges: Iterable[tuple[int, int]]) -> list[str]:
    """Return `lines` with the ranges of lines (both ends included) blanked."""
    kept = list(lines)
    for first, last in ranges:
        kept[first - 1 : last] = [""] * (last - first + 1)
    return kept


def blanked_ranges(lines: Sequence[str], kept: Sequence[str]) -> list[list[int]]:
    """Return the ranges of lines that held something and were blanked, as `[first, last]`."""
    ranges: list[list[int]] = []
    for number, (before, after) in enumerate(zip(lines, kept, strict=True), 1):
        if before.strip() and not after.strip():
            if ranges and all(not line.strip() for line in lines[ranges[-1][1] : number - 1]):
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
    return ranges


def _reads_alike(kept: Sequence[str], units: Sequence[Unit]) -> bool:
    """Return whether the slice holds just the statements of `units`, where they stood."""
    try:
        found = ast.parse("\n".join(kept)).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    wanted = [node for unit in units for node in unit.nodes]
    return [_place(node) for node in found] == [_place(node) for node in wanted]


def _place(node: ast.stmt) -> tuple[object, ...]:
    decorators = len(getattr(node, "decorator_list", ()))
    end = (node.end_lineno, node.end_col_offset)
    return type(node), node.lineno, node.col_offset, *end, decorators
