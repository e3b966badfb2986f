"""A record of the accesses of chosen programs, bounded in accesses and in lanes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from compiler.launching.dtypes import stored
from compiler.launching.finding import Place, index_of
from compiler.launching.touch import Lanes

MOST_LANES = 500_000
"""Of all accesses together: a block access counts one for each of its lanes."""


class Trace:
    """The accesses of `programs` (all if empty), at most `max_accesses` of them."""

    def __init__(self, programs: list[list[int]], max_accesses: int) -> None:
        self._programs = {tuple(program) for program in programs}
        self._max_accesses = max_accesses
        self._lanes = 0
        self._step = 0
        self.accesses: list[dict[str, Any]] = []
        self.truncated = False

    def wants(self, program: tuple[int, int, int]) -> bool:
        """Whether accesses of `program` are kept."""
        return not self._programs or program in self._programs

    def add(self, lanes: Lanes, place: Place) -> None:
        """Keep one access: every lane's index in the argument, `None` for lanes that are masked."""
        pointers, slot = lanes.touch.pointers, lanes.slot
        if len(self.accesses) >= self._max_accesses or self._lanes + pointers.size > MOST_LANES:
            self.truncated = True
            return
        self._lanes += pointers.size
        size = stored(slot.leaf.dtype).itemsize
        mask = [True] * pointers.size if lanes.live is None else lanes.live.reshape(-1).tolist()
        offsets = (pointers.reshape(-1) - np.uint64(slot.first)).view(np.int64) // size
        indices = [
            index_of(element, slot.leaf) if kept else None
            for element, kept in zip(offsets.tolist(), mask, strict=True)
        ]
        self.accesses.append(
            {
                "step": self._step,
                "program": list(place.program or ()),
                "file": place.file,
                "line": place.line,
                "op": lanes.touch.access.value,
                "argument": slot.leaf.name,
                "shape": list(pointers.shape),
                "indices": indices,
                "mask": mask,
            }
        )
        self._step += 1

    def to_json(self) -> bytes:
        """Return what was kept, as the API shows it."""
        return json.dumps({"accesses": self.accesses, "truncated": self.truncated}).encode()
