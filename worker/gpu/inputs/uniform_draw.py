"""Uniform numbers of a seed, as numbers that a kernel can make them of. Knows no CUDA.

They are those of `launch.buffers.initial_values`, which can be made on a GPU bit for bit: integers,
and float64 products and sums, rounded once to the stored type.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.json_number import read_number
from launch.buffers.allocation import Leaf

ITEM_BYTES = {"fp16": 2, "fp32": 4, "fp64": 8}
"""Types that a float64 is rounded to once, by NumPy and by a GPU."""


@dataclass(frozen=True, slots=True)
class UniformDraw:
    """`count` numbers of `item_bytes` each, from `low` on in a range of `width`."""

    key: tuple[int, int]
    """The generator's key, derived from the seed."""
    count: int
    low: float
    width: float
    item_bytes: int

    @classmethod
    def of(cls, described: Mapping[str, Any], layout: Leaf | None) -> UniformDraw | None:
        """Return what an allocation starts with; None where the host has to make it."""
        init, count = described["init"], int(described["elements"])
        if init is None or init["kind"] != "uniform" or described["dtype"] not in ITEM_BYTES:
            return None
        low, high = float(read_number(init.get("low", 0))), float(read_number(init.get("high", 1)))
        is_range = math.isfinite(high - low) and low <= high
        if not count or not is_range or not (layout is None or layout.covers(count)):
            return None
        state: Any = np.random.Philox(int(read_number(init["seed"]))).state
        first, second = (int(word) for word in state["state"]["key"])
        return cls((first, second), count, low, high - low, ITEM_BYTES[described["dtype"]])

    def row(self, address: int) -> list[int]:
        """Return the row of the kernel's table for numbers at `address`."""
        low, width = np.array([self.low, self.width]).view(np.uint64).tolist()
        return [address, self.count, *self.key, low, width, self.item_bytes]
