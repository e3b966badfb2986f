"""Summarises an output in a few statistics, or lists its elements if they are few."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.json_number import LARGEST_EXACT, written_number
from launch.buffers.element_types import Array, readable

MOST_VALUES = 65_536


def numbers_of(elements: Array, dtype: str | None) -> Array:
    """Return stored elements of a Triton type as numbers; without a type, return them unchanged."""
    return elements if dtype is None else readable(elements, dtype)


class SummaryInPieces:
    """Statistics of the finite elements so far. The rounding of the mean depends on the pieces."""

    def __init__(self) -> None:
        self._count = self._nan = self._inf = 0
        self._total = 0.0
        self._extremes: list[Any] = []

    def add(self, numbers: Array) -> None:
        """Add more elements."""
        if not numbers.size:
            return
        numbers = numbers.astype(np.uint8) if numbers.dtype == np.bool_ else numbers
        extremes = [numbers.min(), numbers.max()]  # NaN if an element is NaN
        if not all(map(np.isfinite, extremes)):
            self._nan += int(np.isnan(numbers).sum())
            self._inf += int(np.isinf(numbers).sum())
            numbers = numbers[np.isfinite(numbers)]
            extremes = [numbers.min(), numbers.max()] if numbers.size else []
        if numbers.size:
            self._count += numbers.size
            self._total += float(numbers.sum(dtype=np.float64))
            self._extremes += [extreme.item() for extreme in extremes]

    def result(self, shape: Sequence[int], dtype: str, unwritten: Array | None) -> dict[str, Any]:
        """Return statistics, shape and dtype. `unwritten` is a flat mask, or None."""
        count, extremes = self._count, self._extremes
        return {
            "shape": list(shape),
            "dtype": dtype,
            "min": written_number(min(extremes)) if count else None,
            "max": written_number(max(extremes)) if count else None,
            "mean": written_number(self._total / count) if count else None,
            "nan": self._nan,
            "inf": self._inf,
            "unwritten": 0 if unwritten is None else int(unwritten.sum()),
        }


def values(actual: Array, dtype: str | None) -> Any:
    """Return the elements as nested lists, or None for more than `MOST_VALUES`."""
    if actual.size > MOST_VALUES:
        return None
    numbers = numbers_of(actual, dtype)
    integers = numbers.dtype.kind in "iu"
    plain = (
        not integers
        or not numbers.size
        or max(abs(int(numbers.min())), int(numbers.max())) <= LARGEST_EXACT
    )
    if plain and bool(np.isfinite(numbers).all()):
        return numbers.tolist()
    return _nest(numbers.tolist())


def _nest(values: Any) -> Any:
    return (
        [_nest(value) for value in values]
        if isinstance(values, Sequence)
        else written_number(values)
    )
