"""Finds all statements that can matter to a kernel, by the rule in `effects`.

It takes time linear in the length of any text: each name and statement is visited once. From names
that the kernel reaches it goes to statements that can touch them, and from there to code that runs
these.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from compiler.slice.effects import Effects
from compiler.slice.kinds import Kind
from compiler.slice.outline import Outline, Unit
from compiler.slice.scopes import Mention

_MEANT_BY_PYTHON = frozenset(
    {"__name__", "__file__", "__package__", "__builtins__", "__path__", "__annotations__"}
)


class Search:
    """Keeps units until none that is left out can matter to those that are kept."""

    def __init__(self, outline: Outline, effects: Effects) -> None:
        self._outline = outline
        self._effects = effects
        self.kept: set[int] = set()
        self.names: set[str] = set()
        """The names that the kernel, and code executed for it, look up."""
        self._seen: set[str] = set()
        """These, and what kept statements bind besides: it may share objects with them."""
        self._roots: set[str] = set()
        self._dirty: set[str] = set()
        """Names through which code can run that touches relevant names."""
        self._marked: set[tuple[int, bool]] = set()
        self._to_need: list[str] = []
        self._to_see: list[str] = []
        self._to_dirty: list[str] = []

    def needed(self, roots: Iterable[str]) -> frozenset[str]:
        """Keep what `roots` look up; return all these names, the roots among them."""
        self._to_need += roots
        while self._to_need:
            self._need(self._to_need.pop())
        return frozenset(self.names)

    def run(self) -> None:
        """Keep what may matter, until nothing else does."""
        for unit in self._outline.units:
            for mention, now in _mentions(unit):
                if self._effects.touches(mention, (), ()):
                    self._mark(unit, now=now)
            if self._is_always_kept(unit):
                self._keep(unit)
        while self._to_need or self._to_see or self._to_dirty:
            if self._to_need:
                self._need(self._to_need.pop())
            elif self._to_see:
                self._see(self._to_see.pop())
            else:
                self._spread(self._to_dirty.pop())

    def is_touched_by(self, closure: Sequence[Mention]) -> bool:
        """Return whether running something can change a kept value, by all its mentions."""
        if self._effects.later_binds(closure) & self._seen:
            return True
        return any(self._effects.touches(m, self._seen, self._roots) for m in closure)

    @cached_property
    def _uses(self) -> dict[str, list[tuple[Unit, Mention, bool]]]:
        found: dict[str, list[tuple[Unit, Mention, bool]]] = defaultdict(list)
        for unit in self._outline.units:
            for mention, now in _mentions(unit):
                found[mention.name].append((unit, mention, now))
        return found

    @cached_property
    def _later_binders(self) -> dict[str, list[Unit]]:
        found: dict[str, list[Unit]] = defaultdict(list)
        for unit in self._outline.units:
            for name in unit.reading.later_binds:
                found[name].append(unit)
        return found

    @cached_property
    def _names_of_root(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, known in self._effects.imported.items():
            found[known.root].append(name)
        return found

    def _need(self, name: str) -> None:
        if name in self.names:
            return
        self.names.add(name)
        self._add_seen(name)
        for unit in self._effects.binding(name):
            self._keep(unit)
            self._to_need += [m.name for m in unit.reading.later if m.name]

    def _keep(self, unit: Unit) -> None:
        if id(unit) in self.kept:
            return
        self.kept.add(id(unit))
        for name in unit.binds:
            self._add_seen(name)
        self._to_need += [mention.name for mention in unit.reading.now if mention.name]

    def _add_seen(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            self._to_see.append(name)

    def _see(self, name: str) -> None:
        """Mark all units that touch a name's value, and keep those that bind it."""
        self._mark_touching(name)
        for unit in self._effects.binding(name):
            self._keep(unit)
        for unit in self._later_binders.get(name, []):
            self._mark(unit, now=self._effects.may_call(unit))
        known = self._effects.imported.get(name)
        if known is not None and known.root not in self._roots:
            self._roots.add(known.root)
            for other in (*self._names_of_root[known.root], known.root):
                self._mark_touching(other)

    def _mark_touching(self, name: str) -> None:
        for unit, mention, now in self._uses.get(name, []):
            if self._effects.touches(mention, (name,), self._roots):
                self._mark(unit, now=now)

    def _mark(self, unit: Unit, *, now: bool) -> None:
        """Record that a unit touches a relevant name: when it runs, or when its definition does."""
        if (id(unit), now) in self._marked:
            return
        self._marked.add((id(unit), now))
        if now or self._effects.may_call(unit):
            self._keep(unit)
        fresh = unit.binds - self._dirty
        self._dirty |= fresh
        self._to_dirty += fresh

    def _spread(self, name: str) -> None:
        """Mark all units that may run a name's value."""
        is_kernel = self._effects.kind(name) is Kind.KERNEL
        for unit, mention, now in self._uses.get(name, []):
            if not (is_kernel and mention.how == "launch"):
                self._mark(unit, now=now)

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
        running = self._effects.run_by(unit)
        return not any(m.name in self._undecidable or self._is_foreign(m) for m in running)

    @cached_property
    def _undecidable(self) -> set[str]:
        """The names by which a module that is not here may be asked, or a kernel launched."""
        found: set[str] = set()
        left = [u for u in self._outline.units if any(map(self._is_foreign, u.mentions))]
        while left:
            fresh = left.pop().binds - found
            found |= fresh
            left += [unit for name in fresh for unit, _, _ in self._uses.get(name, [])]
        return found

    def _is_foreign(self, mention: Mention) -> bool:
        known = self._effects.imported.get(mention.name)
        return mention.how == "launch" or (known is not None and self._effects.is_foreign(known))


def _mentions(unit: Unit) -> Iterable[tuple[Mention, bool]]:
    """Yield a unit's mentions, and whether running it mentions them (or calling its definition)."""
    for mention in unit.reading.now:
        yield mention, True
    for mention in unit.reading.later:
        yield mention, False
