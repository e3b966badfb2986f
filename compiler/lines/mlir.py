"""The line map of MLIR text (TTIR, TTGIR): from the locations that its operations end with.

An operation with regions has its location behind the last closing brace; its first line gets it.
"""

from __future__ import annotations

import re

from compiler.lines.location import Locations, trailing
from compiler.lines.place import Chain, Mapped
from compiler.lines.use import with_first_uses

_NO_OPERATION = re.compile(r"\s*(?:#|//|\^|\}|module\b|\{-#|$)")


def map_mlir(text: str) -> Mapped:
    """Return the line map of `text`, which was printed with locations."""
    locations = Locations(text)
    chains: dict[int, Chain] = {}
    operations: set[int] = set()
    openers: list[int] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        words = trailing(line)
        chain = locations.resolve(words) if words is not None else ()
        if not _NO_OPERATION.match(line):
            operations.add(number)
        opener = openers.pop() if openers and line.lstrip().startswith("}") else None
        if line.rstrip().endswith("{"):
            openers.append(opener or number)
        if chain:
            chains[number] = chain
            if opener is not None:
                chains.setdefault(opener, chain)
    known = frozenset(operations)
    return Mapped(with_first_uses(text.splitlines(), chains, known), known)
