"""The source lines of lines in a stage's text, from a table of lines."""

from collections.abc import Mapping
from typing import Any

from compiler.explain.ttgir import Place


def places_of(document: Mapping[str, Any], stage: str) -> dict[int, Place]:
    """Return the source line of each line of a stage. Raises KeyError or TypeError if malformed."""
    places: dict[int, Place] = {}
    for row in document["lines"]:
        if row.get("file") is None or row.get("line") is None:
            continue
        for number in row.get(stage) or ():
            places.setdefault(number, (str(row["file"])[:300], int(row["line"])))
    return places
