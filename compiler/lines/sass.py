"""The line map of SASS: comments as `nvdisasm -gi` writes them hold for the instructions below."""

from __future__ import annotations

import re

from compiler.lines.place import Chain, Mapped, Place

_COMMENT = re.compile(r"\s*//## ")
_PLACE = re.compile(r'"([^"]+)", line (\d+)')
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+\S")


def map_sass(text: str) -> Mapped:
    """Return the line map of `text`. Consecutive comments tell one chain, innermost first."""
    chains: dict[int, Chain] = {}
    operations: set[int] = set()
    places: list[Place] = []
    collecting = False
    for number, line in enumerate(text.splitlines(), 1):
        if _COMMENT.match(line):
            places = places if collecting else []
            said = [Place(file, int(at)) for file, at in _PLACE.findall(line) if int(at)]
            # each comment of a group begins where the one before it was inlined
            places += [place for place in said if place not in places]
            collecting = True
            continue
        collecting = False
        if line.lstrip().startswith(".section"):
            places = []
        if _INSTRUCTION.match(line):
            operations.add(number)
            if places:
                chains[number] = tuple(places)
    return Mapped(chains, frozenset(operations))
