"""What can be said of an output alone: a few numbers, or its elements where they are few.

Elements are looked at piece by piece: what is between takes several times their memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.launching.dtypes import Array, readable
from compiler.launching.number import LARGEST_EXACT, encode

MOST_VALUES = 65_536
PIECE = 1 << 20
"""Elements looked at a time."""


def pieces(size: int) -> Iterator[slice]:
    """Yield slices that make up `size` elements."""
    for start in range(0, size, PIECE):
        yield slice(start, min(start + PIECE, size))


def shown(elements: Array, dtype: str | None) -> Array:
    """Return elements as numbers: stored ones of a Triton type, or as they are without one."""
    return elements if dtype is None else readable(elements, dtype)


def summary(actual: Array, dtype: str, unwritten: Array | None = None) -> dict[str, Any]:
    """Return shape, type, and what can be said of the finite elements in a few numbers.

    `unwritten`, flat: which elements nobody wrote; None: none of them.
    """
    flat = actual.reshape(-1)
    count = nan = inf = 0
    total = 0.0
    extremes: list[Any] = []
    for piece in pieces(flat.size):
        numbers = shown(flat[piece], dtype)
        numbers = numbers.astype(np.uint8) if numbers.dtype == np.bool_ else numbers
        finite = numbers[np.isfinite(numbers)]
        nan += int(np.isnan(numbers).sum())
        inf += int(np.isinf(numbers).sum())
        if finite.size:
            count += finite.size
            total += float(finite.sum(dtype=np.float64))
            extremes += [finite.min().item(), finite.max().item()]
    return {
        "shape": list(actual.shape),
        "dtype": dtype,
        "min": encode(min(extremes)) if count else None,
        "max": encode(max(extremes)) if count else None,
        "mean": encode(total / count) if count else None,
        "nan": nan,
        "inf": inf,
        "unwritten": 0 if unwritten is None else int(unwritten.sum()),
    }


def values(actual: Array, dtype: str) -> Any:
    """Return the elements as nested lists, `None` for more than are worth a JSON answer."""
    if actual.size > MOST_VALUES:
        return None
    numbers = shown(actual, dtype)
    integers = numbers.dtype.kind in "iu"
    plain = (
        not integers
        or not numbers.size
        or max(abs(int(numbers.min())), int(numbers.max())) <= LARGEST_EXACT
    )
    if plain and bool(np.isfinite(numbers).all()):
        return numbers.tolist()
    return _nested(numbers.tolist())


def _nested(values: Any) -> Any:
    return [_nested(value) for value in values] if isinstance(values, Sequence) else encode(values)
