"""The contents of buffers in a re-check: values computed from the number of each element.

Each run of a kernel has others, so that no chance of one set of values hides a fault from all runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from zlib import crc32

import numpy as np

from launch.buffers.element_types import Array

ContentChoice = Literal["spread", "lowest", "highest"]
CHOICES: tuple[ContentChoice, ...] = ("spread", "lowest", "highest")
_PRIME = np.uint64(0x9E3779B97F4A7C15)
_HIGH = np.uint64(33)
_RUN_DISTANCE = 0xD1B54A32D192ED03
_UINT64 = 1 << 64


@dataclass(frozen=True)
class BufferContents:
    """The values of all buffers of a launch. Integers are within their `ranges`.

    `lowest` and `highest` have the ends of ranges in every element; where a buffer has no range,
    the ends of its type.
    """

    choice: ContentChoice = "spread"
    ranges: Mapping[str, range] = field(default_factory=dict)
    run: int = 0
    """The number of the run: where values are spread, each has others."""

    def values(self, name: str, elements: Array, dtype: np.dtype[Any]) -> Array:
        """Return what `elements` of a buffer hold: the same for the same element."""
        # of two buffers, too: what is stored must not be what was there
        first = crc32(name.encode()) + self.run * _RUN_DISTANCE
        number = elements.astype(np.int64).view(np.uint64) + np.uint64(first % _UINT64)
        mixed = number * _PRIME >> _HIGH
        if dtype.kind == "b":
            truths: Array = (mixed & np.uint64(1)) != 0
            return truths
        if dtype.kind not in "iu":
            return ((mixed % np.uint64(4001)).astype(np.float64) / 1000 - 2).astype(dtype)
        mixed = mixed.astype(np.int64)
        within = self.ranges.get(name)
        if within is None:
            return self._of_type(mixed, dtype)
        if self.choice != "spread":
            end = within[0] if self.choice == "lowest" else within[-1]
            return np.broadcast_to(np.array(end).astype(dtype), elements.shape)
        values: Array = within.start + mixed % len(within)
        return values.astype(dtype)

    def undefined(self, dtype: np.dtype[Any]) -> Any:
        """Return a value where a load has neither a live lane nor another value."""
        if dtype.kind not in "iu" or self.choice == "spread":
            return dtype.type(0)
        return self._end(dtype)

    def _of_type(self, mixed: Array, dtype: np.dtype[Any]) -> Array:
        if self.choice == "spread":
            values: Array = mixed % 23 - 3
            return values.astype(dtype)
        return np.broadcast_to(self._end(dtype), mixed.shape)

    def _end(self, dtype: np.dtype[Any]) -> Any:
        ends = np.iinfo(dtype)
        return dtype.type(ends.min if self.choice == "lowest" else ends.max)
