"""Matches names of one text with those of another: one for one, otherwise it is no renaming.

A text may use a name again for another value, where its language says so. What was learnt from
lines that differ anyway is a guess: it gives way to whatever contradicts it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from compiler.diff.stage_text import Name, StageLine


@dataclass(slots=True)
class _Names:
    """Pairs of names of one scope; those in `guessed`, by the first's name, are not certain."""

    to_b: dict[str, str] = field(default_factory=dict)
    to_a: dict[str, str] = field(default_factory=dict)
    guessed: set[str] = field(default_factory=set)

    def bind(self, a: str, b: str) -> None:
        """Match `a` and `b`, and drop their earlier matches."""
        self.forget_a(a)
        self.forget_b(b)
        self.to_b[a], self.to_a[b] = b, a

    def forget_a(self, a: str) -> None:
        """Drop the match of the first text's `a`."""
        if a in self.to_b:
            del self.to_a[self.to_b.pop(a)]
        self.guessed.discard(a)

    def forget_b(self, b: str) -> None:
        """Drop the match of the second text's `b`."""
        if b in self.to_a:
            self.forget_a(self.to_a[b])

    def is_pair(self, a: str, b: str) -> bool:
        """Return True if `a` and `b` match."""
        return self.to_b.get(a) == b

    def is_free(self, a: str, b: str) -> bool:
        """Return True if neither has a match."""
        other = self.to_a.get(b)
        return (a not in self.to_b or a in self.guessed) and (
            other is None or other in self.guessed
        )


class Naming:
    """The known matches of names of two texts, while both are read from the start."""

    def __init__(self, names_of_a: Iterable[str] = ()) -> None:
        self._taken = frozenset(names_of_a)
        self._of_module = _Names()
        self._of_function = _Names()

    def agree(self, a: StageLine, b: StageLine) -> bool:
        """Say whether two lines of one skeleton have the same names; learn from them."""
        if len(a.names) != len(b.names):
            return False
        if a.begins_function:
            self._of_function = _Names()
        new: list[tuple[_Names, Name, Name]] = []
        is_same = True
        for x, y in zip(a.names, b.names, strict=True):
            names = self._scope(x)
            if x.is_definition:
                new.append((names, x, y))
            elif not names.is_pair(x.text, y.text):
                if names.is_free(x.text, y.text):
                    names.bind(x.text, y.text)
                    new.append((names, x, y))
                else:
                    is_same = False
        for names, x, y in new:
            if x.is_definition:
                names.bind(x.text, y.text)
            if not is_same:
                names.guessed.add(x.text)
        return is_same

    def changed(self, removed: Sequence[StageLine], added: Sequence[StageLine]) -> None:
        """Record differing lines: their results may have other names than before.

        The last result of the one is taken for the last of the other, and so on upwards.
        """
        for line in removed:
            for name in line.names:
                if name.is_definition:
                    self._scope(name).forget_a(name.text)
        for line in added:
            for name in line.names:
                if name.is_definition:
                    self._scope(name).forget_b(name.text)
        for x, y in zip(_results(removed), _results(added), strict=False):
            names = self._scope(x)
            if x.is_of_module == y.is_of_module and names.is_free(x.text, y.text):
                names.bind(x.text, y.text)
                names.guessed.add(x.text)

    def in_names_of_a(self, line: StageLine) -> Callable[[], str]:
        """Return what gives a line of the second text with the first's names, as then known.

        What the first lacks keeps its name, with a prime if that means something else there.
        """
        return partial(self._renamed, line, self._of_function)

    def _renamed(self, line: StageLine, of_function: _Names) -> str:
        parts, start = [], 0
        for name in line.names:
            known = (self._of_module if name.is_of_module else of_function).to_a.get(name.text)
            shown = known or name.text + ("'" if name.text in self._taken else "")
            written = line.text[name.start : name.end]
            parts += [line.text[start : name.start], shown[len(name.text) - len(written) :]]
            start = name.end
        return "".join([*parts, line.text[start:]])

    def _scope(self, name: Name) -> _Names:
        return self._of_module if name.is_of_module else self._of_function


def _results(lines: Sequence[StageLine]) -> list[Name]:
    """Return the name that each line makes, or begins with, the last line's first."""
    found: list[Name] = []
    for line in reversed(lines):
        made = [name for name in line.names if name.is_definition] or line.names[:1]
        found += made[:1]
    return found
