"""Cuts a module down to what its kernel can see; unreached lines are blanked, never removed.

A statement is left out only when it cannot matter: docs/correctness.md states the rule.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.making.effects import Effects
from compiler.making.import_names import Imported
from compiler.making.kinds import star_imports
from compiler.making.mentions import Mention
from compiler.making.outline import Outline, Unit

BUILTINS = frozenset(dir(builtins)) | {
    "__name__",
    "__file__",
    "__doc__",
    "__package__",
    "__spec__",
}
DECORATOR = "a decorator above @triton.jit"
_MEANT_BY_PYTHON = frozenset(
    {"__name__", "__file__", "__package__", "__builtins__", "__path__", "__annotations__"}
)


@dataclass(frozen=True)
class Reach:
    """The units that may matter to a kernel, and the names that it reaches.

    `opaque` says what no reading of the text can follow: with it, nothing may be left out.
    """

    units: list[Unit]
    names: frozenset[str]
    opaque: frozenset[str]
    changed: Mapping[int, frozenset[str]]
    """By the `id` of a unit: the kernel's own names that it certainly changes in place."""


def reach(outline: Outline, effects: Effects, roots: Iterable[str]) -> Reach:
    """Return what the names `roots` reach, and every statement that can change it."""
    search = _Search(outline, effects)
    for name in roots:
        search.need(name)
    own = frozenset(search.names)
    search.run()
    kept = [unit for unit in outline.units if id(unit) in search.kept]
    opaque = set[str]()
    for unit in outline.units:
        opaque |= effects.opaque(effects.closure(unit))
        opaque |= effects.opaque(effects.follow(unit.unread))
        if search.is_touched_by(effects.without_posted(effects.follow(unit.unread))):
            opaque.add(DECORATOR)
    for unit in kept:
        opaque |= effects.opaque(unit.mentions)
    changed = {id(unit): own & effects.changes(unit) for unit in kept}
    return Reach(kept, frozenset(search.names), frozenset(opaque), changed)


class _Search:
    """Keeps units until none that is left out can matter to those that are kept."""

    def __init__(self, outline: Outline, effects: Effects) -> None:
        self._outline = outline
        self._effects = effects
        self.kept: set[int] = set()
        self.names: set[str] = set()
        """What the kernel, and what is run for it, looks up."""
        self._made: set[str] = set()
        """What kept statements bind besides: it may share objects with what is looked up."""

    def need(self, name: str) -> None:
        """Keep what binds a name, and all that using it looks up."""
        waiting = [name]
        while waiting:
            wanted = waiting.pop()
            if wanted in self.names:
                continue
            self.names.add(wanted)
            for unit in self._effects.binding(wanted):
                self._keep(unit)
                waiting += [mention.name for mention in unit.mentions if mention.name]

    def run(self) -> None:
        """Keep what may matter, until nothing else does."""
        growing = True
        while growing:
            growing = False
            for unit in self._outline.units:
                if id(unit) not in self.kept and self._matters(unit):
                    self._keep(unit)
                    growing = True

    def _keep(self, unit: Unit) -> None:
        if id(unit) in self.kept:
            return
        self.kept.add(id(unit))
        self._made |= unit.binds
        for mention in unit.reading.now:
            if mention.name:
                self.need(mention.name)

    def _matters(self, unit: Unit) -> bool:
        if self._is_always_kept(unit):
            return True
        seen = self.names | self._made
        return bool(unit.binds & seen) or self.is_touched_by(self._effects.closure(unit))

    def is_touched_by(self, closure: Sequence[Mention]) -> bool:
        """Return whether running something can change what is kept, by all that it mentions."""
        seen = self.names | self._made
        if self._effects.later_binds(closure) & seen:
            return True
        known = (self._effects.imported.get(name) for name in seen)
        roots = {origin.root for origin in known if origin is not None}
        return any(self._effects.touches(mention, seen, roots) for mention in closure)

    def _is_always_kept(self, unit: Unit) -> bool:
        if unit.binds & _MEANT_BY_PYTHON:
            return True
        for mention in unit.reading.now:
            if mention.how == "import":
                star = mention.path[1:] == ("*",) and mention.name in sys.stdlib_module_names
                ours = mention.name in {"triton", "__future__"}
                if star or ours or self._effects.imports_posted(mention):
                    return True
        return unit.reading.raises and self._is_decidable(unit)

    def _is_decidable(self, unit: Unit) -> bool:
        """Return whether a unit asks nothing of modules that are not here, and launches nothing."""
        for mention in self._effects.closure(unit):
            known = self._effects.imported.get(mention.name)
            if mention.how == "launch" or (known and self._effects.is_foreign(known)):
                return False
        return True


def foreign_stars(units: Sequence[Unit], effects: Effects) -> list[tuple[Unit, str]]:
    """Return the units that import everything from a module that is not here, and the module."""
    found = ((unit, module) for unit in units for module in star_imports(unit))
    return [(u, m) for u, m in found if effects.is_foreign(Imported(m.split(".")[0], (), m))]


def sliced(lines: Sequence[str], units: Sequence[Unit]) -> list[str] | None:
    """Return `lines` with all blanked but `units`; `None` if these would not be read as they were.

    A line that declares the encoding stays.
    """
    kept = [""] * len(lines)
    for unit in units:
        kept[unit.first_line - 1 : unit.last_line] = lines[unit.first_line - 1 : unit.last_line]
    _keep_encoding(lines, kept)
    return kept if _reads_alike(kept, units) else None


def without(lines: Sequence[str], ranges: Iterable[tuple[int, int]]) -> list[str]:
    """Return `lines` with the ranges of lines (both ends included) blanked."""
    kept = list(lines)
    for first, last in ranges:
        kept[first - 1 : last] = [""] * (last - first + 1)
    return kept


def blanked_ranges(lines: Sequence[str], kept: Sequence[str]) -> list[list[int]]:
    """Return the ranges of lines that said something and were blanked, as `[first, last]`."""
    ranges: list[list[int]] = []
    for number, (before, after) in enumerate(zip(lines, kept, strict=True), 1):
        if before.strip() and not after.strip():
            if ranges and all(not line.strip() for line in lines[ranges[-1][1] : number - 1]):
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
    return ranges


def _keep_encoding(lines: Sequence[str], kept: list[str]) -> None:
    for index, line in enumerate(lines[:2]):
        if line.lstrip().startswith("#") and "coding" in line:
            kept[index] = line


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
