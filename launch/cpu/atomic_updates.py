"""Atomic operations on elements of memory, in the order of the lanes.

If the kernel does not use the old values, one NumPy operation combines all lanes. It takes them in
the same order and rounds after each step.
"""

from typing import Any

import numpy as np

from launch.buffers.element_types import Array

_COMBINED: dict[str, Any] = {
    "add": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "max": np.fmax, "min": np.fmin, "umax": np.maximum, "umin": np.minimum,
}  # fmt: skip
_OF_BITS = frozenset({"umax", "umin"})
_EXTREMES = frozenset({"max", "min"})


class UnknownAtomic(NotImplementedError):
    """The atomic operation has an unknown kind."""


def update(kind: str, elements: Array, index: Array, values: Array) -> None:
    """Combine `values` into `elements` at `index`, both flat and in the order of the lanes."""
    if kind == "xchg":
        elements[index] = values  # for equal indices, the last value stays
        return
    if kind in _EXTREMES and not _is_whole(elements):
        fetch_and_update(kind, elements, index, values)
        return
    elements, values = _as_combined(kind, elements), _as_combined(kind, values)
    _operation(kind).at(elements, index, values)


def fetch_and_update(kind: str, elements: Array, index: Array, values: Array) -> Array:
    """Do the same, and return the old value for each lane.

    Lanes with a unique index run together; lanes with equal indices run index by index.
    """
    cells, operands = _as_combined(kind, elements), _as_combined(kind, values)
    before = cells.take(index)
    order = np.argsort(index, kind="stable")
    _, starts, counts = np.unique(index[order], return_index=True, return_counts=True)
    alone = order[starts[counts == 1]]
    cells[index[alone]] = _steps(kind, np.stack([before[alone], operands[alone]]))[1]
    meeting = counts > 1
    for start, count in zip(starts[meeting].tolist(), counts[meeting].tolist(), strict=True):
        lanes = order[start : start + count]
        held = _steps(kind, np.append(before[lanes[0]], operands[lanes]))
        before[lanes] = held[:-1]
        cells[index[lanes[0]]] = held[-1]
    return before.view(elements.dtype)


def _steps(kind: str, values: Array) -> Array:
    """Return the memory's value after each row of values; the first row is the old value."""
    if kind == "xchg":
        return values
    steps: Array = _operation(kind).accumulate(values, axis=0, dtype=values.dtype)
    if kind in _EXTREMES and not _is_whole(values):
        _order_zeros(kind, values, steps)
    return steps


def _order_zeros(kind: str, values: Array, steps: Array) -> None:
    """Set the signs of zeros in `steps`: +0 is larger than -0, which NumPy leaves undefined."""
    is_minus = np.signbit(values)
    is_wanted = (values == 0) & (is_minus if kind == "min" else ~is_minus)
    is_met = np.logical_or.accumulate(is_wanted, axis=0)
    is_negative = is_met if kind == "min" else ~is_met
    np.copysign(
        steps, np.where(is_negative, -1, 1).astype(steps.dtype), out=steps, where=steps == 0
    )


def _is_whole(values: Array) -> bool:
    return values.dtype.kind in "iu"


def compare_and_swap(elements: Array, index: Array, expected: Array, values: Array) -> Array:
    """Store each of `values` where memory equals its `expected` bits; return the old values."""
    bits = f"u{elements.itemsize}"
    cells, wanted, replacements = (
        np.ascontiguousarray(a).view(bits) for a in (elements, expected, values)
    )
    before = cells.take(index)
    if np.unique(index).size == index.size:
        cells[index] = np.where(before == wanted, replacements, before)
        return before.view(elements.dtype)
    for lane, place in enumerate(index.tolist()):
        before[lane] = cells[place]
        if before[lane] == wanted[lane]:
            cells[place] = replacements[lane]
    return before.view(elements.dtype)


def _operation(kind: str) -> Any:
    if kind not in _COMBINED:
        message = f"there is no atomic operation {kind!r}"
        raise UnknownAtomic(message)
    return _COMBINED[kind]


def _as_combined(kind: str, values: Array) -> Array:
    """Return a view of the same memory in the type for which NumPy combines as Triton does."""
    return values.view(f"u{values.itemsize}") if kind in _OF_BITS else values
