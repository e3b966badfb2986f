"""Counts and maps the compared elements of one output, as a launch's record reports them.

NumPy compares elements on the host, torch compares them on the GPU. Both count them here.
"""

import math
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from compiler.json_number import written_number
from launch.buffers.element_types import Array
from launch.messages import Tolerance

# A map of the differences between an output and its reference, of bounded size.
#
# The map treats an output as a matrix: columns are its last axis, rows are all other axes
# together. It has at most `CELLS` by `CELLS` cells. Each cell counts its mismatches.

CELLS = 32


class MismatchCounter:
    """Counts the mismatches of one output of the given shape, by cell."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._columns = shape[-1] if shape else 1
        self._rows = prod(shape[:-1]) if shape else 1
        self._down, self._across = min(self._rows, CELLS), min(self._columns, CELLS)
        self._counts: Array | None = None

    @property
    def size(self) -> int:
        """The number of cells."""
        return self._down * self._across

    def count(self, counts: Array) -> None:
        """Add a number of mismatches for each cell."""
        if self._counts is None:
            self._counts = np.zeros(self.size, np.int64)
        self._counts += counts

    def note(self, start: int, mismatched: Array) -> None:
        """Add the mismatches of the elements that follow the first `start`."""
        first, last = start // self._columns, (start + mismatched.size - 1) // self._columns
        if (last - first + 1) * self._across < mismatched.size // 4:
            cells, counts = self._stretches(start, mismatched, np.arange(first, last + 1))
        else:
            cells, counts = self.cells_of(start + np.flatnonzero(mismatched)), None
        self.count(np.bincount(cells, counts, self.size).astype(np.int64))

    def cells_of(self, places: Any) -> Any:
        """Return the cells of flat indices, as an array or a tensor like `places`."""
        rows, columns = places // self._columns, places % self._columns
        return rows * self._down // self._rows * self._across + (
            columns * self._across // self._columns
        )

    def _stretches(self, start: int, mismatched: Array, rows: Array) -> tuple[Array, Array]:
        """Split `rows` at the edges of cells; return the cell and the mismatches of each part.

        One `reduceat` counts many elements, which is much faster than a lookup for each.
        """
        edges = -(-np.arange(self._across) * self._columns // self._across)
        begins = (rows[:, None] * self._columns + edges).reshape(-1)
        begins = np.maximum(begins[np.searchsorted(begins, start, "right") - 1 :], start)
        begins = begins[: np.searchsorted(begins, start + mismatched.size)]
        counts = np.add.reduceat(mismatched, begins - start, dtype=np.int64)
        return self.cells_of(begins), counts

    def result(self) -> dict[str, Any] | None:
        """Return the map in the form of a launch's record, or None if all elements match."""
        if self._counts is None or not self._counts.any():
            return None
        return {
            "rows": self._rows,
            "columns": self._columns,
            "mismatched": self._counts.reshape(self._down, self._across).tolist(),
        }


@dataclass(slots=True)
class ComparedElements:
    """Counts for two arrays of one shape. `compared` excludes elements unwritten on both sides."""

    shape: tuple[int, ...]
    tolerance: Tolerance
    compared: int = 0
    mismatched: int = 0
    nonfinite: int = 0
    """Mismatches where one side is not finite, or both are and differ."""
    unwritten: int = 0
    """Mismatches that only one side wrote."""
    absolute: Any = 0
    """The largest |actual - expected|, as a Python number."""
    relative: Any = 0
    zeros_match: bool = True
    """True if all expected values so far are within the tolerance of zero."""
    first: dict[str, Any] | None = None
    map: MismatchCounter = field(init=False)

    def __post_init__(self) -> None:
        self.map = MismatchCounter(self.shape)

    def note_errors(self, absolute: Any, relative: Any) -> None:
        """Add the largest errors of more elements."""
        self.absolute = max(self.absolute, absolute)
        self.relative = max(self.relative, relative)

    def note_expected(self, largest: float) -> None:
        """Add the largest magnitude of more expected elements."""
        allowed = self.tolerance.atol + self.tolerance.rtol * largest
        self.zeros_match = self.zeros_match and math.isfinite(largest) and largest <= allowed

    def show(self, place: int, actual: Any, expected: Any) -> None:
        """Record the mismatch at the flat index `place`, unless there was an earlier one."""
        if self.first is None:
            index = [int(position) for position in np.unravel_index(place, self.shape)]
            self.first = {
                "index": index,
                "actual": written_number(actual),
                "expected": written_number(expected),
            }

    @property
    def all_finite(self) -> bool:
        """True if both sides wrote every element and no mismatch involves NaN or infinity."""
        return self.nonfinite == self.unwritten == 0

    def result(self) -> dict[str, Any]:
        """Return the counts in the form of a launch's record."""
        within = self.mismatched <= self.tolerance.max_mismatched_ratio * self.compared
        return {
            "matches": self.all_finite and within,
            "zeros_match": self.zeros_match and self.compared > 0,
            "max_abs_error": written_number(self.absolute),
            "max_rel_error": written_number(self.relative),
            "compared": self.compared,
            "mismatched": self.mismatched,
            "nonfinite_mismatched": self.nonfinite,
            "unwritten": self.unwritten,
            "first_mismatch": self.first,
            "mismatch_map": self.map.result(),
        }
