"""A finding in the stages of a compilation, from the answer of `Client.explain`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Place = tuple[str, int]
"""A file by the service's name, and a line."""


@dataclass(frozen=True, slots=True)
class CostFinding:
    """A sentence on a source line; `place` is None where no line is known."""

    place: Place | None
    message: str

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "CostFinding":
        """Parse a finding. Raises KeyError or TypeError if it is malformed."""
        file, line = body["file"], body["line"]
        place = None if file is None or line is None else (str(file), int(line))
        return cls(place, str(body["message"]))


def findings(bodies: Iterable[Mapping[str, Any]]) -> tuple[CostFinding, ...]:
    """Parse findings. Raises KeyError or TypeError if they are malformed."""
    return tuple(map(CostFinding.from_json, bodies))
