"""A map of the differences between an output and its reference, of bounded size.

The output is seen as a matrix, its last axis by all others together, in at most `CELLS` by `CELLS`
cells; a cell says how many of its elements do not match.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from launch.buffers.element_types import Array

CELLS = 32


class MismatchMap:
    """The mismatches of one output of this shape, as far as they were noted."""

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
        """Take how many mismatches more there are in each cell."""
        if self._counts is None:
            self._counts = np.zeros(self.size, np.int64)
        self._counts += counts

    def note(self, start: int, mismatched: Array) -> None:
        """Take whether each of the elements behind the first `start` is a mismatch."""
        first, last = start // self._columns, (start + mismatched.size - 1) // self._columns
        if (last - first + 1) * self._across < mismatched.size // 4:
            cells, counts = self._stretches(start, mismatched, np.arange(first, last + 1))
        else:
            cells, counts = self.cells_of(start + np.flatnonzero(mismatched)), None
        self.count(np.bincount(cells, counts, self.size).astype(np.int64))

    def cells_of(self, places: Any) -> Any:
        """Return the cell of each element of these flat places: of an array, or of a tensor."""
        rows, columns = places // self._columns, places % self._columns
        return rows * self._down // self._rows * self._across + (
            columns * self._across // self._columns
        )

    def _stretches(self, start: int, mismatched: Array, rows: Array) -> tuple[Array, Array]:
        """Return the cells of the stretches of `rows` that lie in one cell each, and their counts.

        Many elements are counted at once, which is much faster than one by one.
        """
        edges = -(-np.arange(self._across) * self._columns // self._across)
        begins = (rows[:, None] * self._columns + edges).reshape(-1)
        begins = np.maximum(begins[np.searchsorted(begins, start, "right") - 1 :], start)
        begins = begins[: np.searchsorted(begins, start + mismatched.size)]
        counts = np.add.reduceat(mismatched, begins - start, dtype=np.int64)
        return self.cells_of(begins), counts

    def result(self) -> dict[str, Any] | None:
        """Return the map as a launch's record has it, None where all elements match."""
        if self._counts is None or not self._counts.any():
            return None
        return {
            "rows": self._rows,
            "columns": self._columns,
            "mismatched": self._counts.reshape(self._down, self._across).tolist(),
        }
