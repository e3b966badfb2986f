"""Places in the user's files that printed IR names for its lines. Pure text."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from compiler.diagnostic import Span

_PLACE = re.compile(r'(#loc\w*)|"/kernel/([^"\n]{1,500})":(\d{1,9}):(\d{1,9})')
_MAX_DEPTH = 20


@dataclass(frozen=True)
class LocationAliases:
    """The location aliases of one module; each is looked into once."""

    definitions: Mapping[str, str]
    known: dict[str, Span | None] = field(default_factory=dict)

    def span(self, words: str, depth: int = 0) -> Span | None:
        """Return the first place in the user's files that a location names, through aliases."""
        for match in _PLACE.finditer(words):
            alias, file, line, column = match.groups()
            if file is not None:
                return Span(file, int(line), int(column))
            if alias not in self.known and depth < _MAX_DEPTH:
                self.known[alias] = None  # so far: an alias may name itself
                self.known[alias] = self.span(self.definitions.get(alias, ""), depth + 1)
            if (span := self.known.get(alias)) is not None:
                return span
        return None

    def span_of_line(self, line: str) -> Span | None:
        """Return the place of the operation that ends on a line of the module."""
        return self.span(line.rpartition(" loc(")[2])


def aliases_in(lines: Iterable[str]) -> LocationAliases:
    """Return the location aliases that the lines of a module define."""
    named = (line.partition(" = ") for line in lines if line.startswith("#loc"))
    return LocationAliases({name: words for name, _, words in named})
