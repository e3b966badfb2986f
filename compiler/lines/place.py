"""Where a line of an artifact comes from: places in source files, innermost inlined call first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """A 1-based line of a file, by the file's path."""

    file: str
    line: int


Chain = tuple[Place, ...]


@dataclass(frozen=True)
class Mapped:
    """What one artifact tells: a chain for each line that has one, and which lines hold code.

    Lines are 1-based lines of the artifact. `operations` are those that could have a chain.
    """

    chains: Mapping[int, Chain]
    operations: frozenset[int]

    @property
    def mapped_ratio(self) -> float:
        """Return how many of the operations have a chain."""
        if not self.operations:
            return 1.0
        return len(self.operations & self.chains.keys()) / len(self.operations)
