"""A map of the differences between an output and its reference, of bounded size.

The map treats an output as a matrix: columns are its last axis, rows are all other axes together.
It has at most `CELLS` by `CELLS` cells. Each cell counts its mismatches.
"""

from math import prod
from typing import Any

import numpy as np

from launch.buffers.element_types import Array

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
