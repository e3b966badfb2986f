"""Gives lanes without a defined value what a run wants there, and notes the first such lane."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np

from launch.buffers.element_types import Array
from launch.checks.undefined_filling import Filling, UndefinedLane
from launch.cpu.programs import ProgramInstances

Shape = tuple[int, ...]
_MIXING = np.uint64(0x9E3779B97F4A7C15)
"""Gives lanes that a mask leaves out at regular distances different values."""


class UndefinedLanes:
    """The undefined lanes of one run: zeros, unless `filling` includes their operation."""

    def __init__(self, programs: ProgramInstances, filling: Filling | None) -> None:
        self._programs, self._filling = programs, filling
        self.first: dict[int, UndefinedLane] = {}

    def of(self, number: int) -> OperationLanes:
        """Return the lanes of the operation with this number."""
        return OperationLanes(self, number)

    def note(self, number: int, missing: Array) -> None:
        """Note the first lane that is `missing` its value in an active program."""
        if number in self.first:
            return
        active = self._programs.active
        if active is not None:
            missing = missing & active.reshape(-1, *(1,) * (missing.ndim - 1))
        if not missing.any():
            return
        row, *lane = (int(axis) for axis in np.unravel_index(missing.argmax(), missing.shape))
        position = row if len(missing) > 1 else self._programs.first_active()
        count = int(np.count_nonzero(missing))
        program = self._programs.program_at(position)
        self.first[number] = UndefinedLane(program, tuple(lane), count)

    def values(self, number: int, shape: Shape, dtype: Any) -> Array | None:
        """Return values of `dtype` for each program and a tile of `shape`, None for zeros."""
        if self._filling is None or number not in self._filling.numbers:
            return None
        size = prod(shape)
        order = np.arange(size) + size * self._programs.numbers[:, None]
        choices = _choices(np.dtype(dtype))
        mixed = (order.astype(np.uint64) * _MIXING >> np.uint64(33)).astype(np.int64)
        values: Array = choices[(mixed + self._filling.rotation) % len(choices)].reshape(-1, *shape)
        return values


class OperationLanes:
    """The undefined lanes of one operation."""

    def __init__(self, lanes: UndefinedLanes, number: int) -> None:
        self._lanes, self._number = lanes, number

    def values(self, missing: Array, dtype: Any) -> Array | None:
        """Return values for the lanes that are `missing` theirs, None for zeros."""
        self._lanes.note(self._number, missing)
        return self._lanes.values(self._number, missing.shape[1:], dtype)


def _choices(dtype: np.dtype[Any]) -> Array:
    """Return values that show in nearly every result: large ones of both signs, and NaN."""
    if dtype.kind == "b":
        return np.ones(1, dtype)
    if dtype.kind in "iu":
        large = int(np.iinfo(dtype).max) // 3 | 1
        return np.array([large, large - 2 if dtype.kind == "u" else -large, 7]).astype(dtype)
    size = float(ml_dtypes.finfo(dtype).max) / 4  # type: ignore[no-untyped-call]
    return np.array([size, -size, np.nan]).astype(dtype)
