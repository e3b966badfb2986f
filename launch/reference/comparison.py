"""The task that compares what a kernel made with what was expected; executes no user code.

Floats are compared in float64: an element matches if |actual - expected| <= atol + rtol |expected|,
if both are the same infinity, or both NaN where `equal_nan` says so. Integers are compared exactly.
What nobody wrote matches nothing, whatever bits are there and whatever the tolerance says. Of an
output alone there are a few numbers, or its elements where they are few. Elements are taken piece
by piece, as what is computed in between takes several times their memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.json_number import LARGEST_EXACT, written_number
from compiler.messages.wire import Send
from launch.buffers import npy
from launch.buffers.allocation import shared_part
from launch.buffers.element_types import Array, readable, stored
from launch.messages import (
    ComparedOutput,
    CompareOrder,
    CompareReport,
    OutputOrder,
    Place,
    Tolerance,
)

MOST_VALUES = 65_536
PIECE = 1 << 20
"""Elements looked at a time."""


def pieces(size: int) -> Iterator[slice]:
    """Yield slices that make up `size` elements."""
    for start in range(0, size, PIECE):
        yield slice(start, min(start + PIECE, size))


def numbers_of(elements: Array, dtype: str | None) -> Array:
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
        numbers = numbers_of(flat[piece], dtype)
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
        "min": written_number(min(extremes)) if count else None,
        "max": written_number(max(extremes)) if count else None,
        "mean": written_number(total / count) if count else None,
        "nan": nan,
        "inf": inf,
        "unwritten": 0 if unwritten is None else int(unwritten.sum()),
    }


def values(actual: Array, dtype: str) -> Any:
    """Return the elements as nested lists, `None` for more than are worth a JSON answer."""
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


@dataclass(frozen=True)
class Unwritten:
    """Which elements nobody wrote, flat; None: every element was written."""

    actual: Array | None = None
    expected: Array | None = None
    """By a kernel that is the reference."""


_NOTHING_MISSING = Unwritten()


@dataclass(frozen=True)
class Difference:
    """Two arrays, element by element."""

    absolute: Array
    """|actual - expected|; 0 where `finite` is false."""
    relative: Array
    """The same divided by |expected|; 0 where that is 0."""
    finite: Array
    """Where both are finite."""
    mismatched: Array


def compare(order: CompareOrder, body: bytes, send: Send) -> CompareReport:
    """Return a summary of every output, and a comparison of those with expected elements.

    Sends `tensor:<name>`, a `.npy` file, of those that are to be returned as tensors.
    """
    results = {}
    for name, output in order.outputs.items():
        kind = stored(output.dtype)
        actual = np.frombuffer(shared_part(body, output.actual), kind).reshape(output.shape)
        missing = Unwritten(
            _bits(body, output.unwritten, actual.size),
            _bits(body, output.expected_unwritten, actual.size),
        )
        results[name] = ComparedOutput(
            summary=summary(actual, output.dtype, missing.actual),
            comparison=_compare(actual, output, body, missing),
            values=values(actual, output.dtype) if output.returned == "values" else None,
        )
        if output.returned == "tensor":
            send({"kind": "stage", "stage": f"tensor:{name}", "ms": 0.0}, npy.write(actual))
    return CompareReport(outputs=results)


def _bits(body: bytes, place: Place | None, count: int) -> Array | None:
    if place is None:
        return None
    return np.unpackbits(np.frombuffer(shared_part(body, place), np.uint8), count=count).view("?")


def _compare(
    actual: Array, output: OutputOrder, body: bytes, missing: Unwritten
) -> dict[str, Any] | None:
    if output.expected is None:
        return None
    own = output.expected_dtype is None
    kind = stored(output.dtype) if own else np.dtype(output.expected_dtype)
    expected = np.frombuffer(shared_part(body, output.expected), kind).reshape(output.shape)
    kinds = output.dtype, output.dtype if own else None
    return comparison(actual, expected, output.tolerance, *kinds, missing=missing)


def comparison(
    actual: Array,
    expected: Array,
    tolerance: Tolerance,
    dtype: str | None = None,
    expected_dtype: str | None = None,
    missing: Unwritten = _NOTHING_MISSING,
) -> dict[str, Any]:
    """Return whether two arrays of one shape match, and how far they are apart.

    Either is of stored elements if a Triton type is given for it. What neither side wrote is not
    compared: `compared` elements are left.
    """
    ours, theirs = actual.reshape(-1), expected.reshape(-1)
    mismatched = nonfinite = unwritten = compared = 0
    absolute: list[Any] = [0]
    relative: list[Any] = [0]
    first = None
    for piece in pieces(actual.size):
        left, right = numbers_of(ours[piece], dtype), numbers_of(theirs[piece], expected_dtype)
        exact = left.dtype.kind != "f" and right.dtype.kind != "f"
        difference = (_integers if exact else _floats)(left, right, tolerance)
        one, known = _written_once(missing, piece)
        wrong = (difference.mismatched | one) & known
        if first is None and wrong.any():
            place = int(wrong.argmax())
            # a boolean that nobody wrote is shown as the byte it is, not as true
            shown_as = left if not one[place] or left.dtype.kind != "b" else ours[piece]
            first = _mismatch(piece.start + place, actual.shape, shown_as[place], right[place])
        mismatched += int(wrong.sum())
        nonfinite += int((wrong & ~difference.finite).sum())
        unwritten += int(one.sum())
        compared += int(known.sum())
        absolute.append(difference.absolute.max(where=known, initial=0).item())
        relative.append(difference.relative.max(where=known, initial=0).item())
    within = mismatched <= tolerance.max_mismatched_ratio * compared
    return {
        "matches": nonfinite == unwritten == 0 and within,
        "max_abs_error": written_number(max(absolute)),
        "max_rel_error": written_number(max(relative)),
        "compared": compared,
        "mismatched": mismatched,
        "nonfinite_mismatched": nonfinite,
        "unwritten": unwritten,
        "first_mismatch": first,
    }


def _written_once(missing: Unwritten, piece: slice) -> tuple[Array, Array]:
    """Return which elements only one side wrote, and which at least one did."""
    ours, theirs = (
        np.zeros(piece.stop - piece.start, np.bool_) if side is None else side[piece]
        for side in (missing.actual, missing.expected)
    )
    return ours ^ theirs, ~(ours & theirs)


def _mismatch(place: int, shape: tuple[int, ...], actual: Any, expected: Any) -> dict[str, Any]:
    index = [int(position) for position in np.unravel_index(place, shape)]
    return {"index": index, "actual": written_number(actual), "expected": written_number(expected)}


def _floats(actual: Array, expected: Array, tolerance: Tolerance) -> Difference:
    ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    with np.errstate(all="ignore"):
        absolute = np.where(finite, np.abs(ours - theirs), 0.0)
        same = ours == theirs
        if tolerance.equal_nan:
            same |= np.isnan(ours) & np.isnan(theirs)
        close = absolute <= tolerance.atol + tolerance.rtol * np.abs(theirs)
        mismatched = np.where(finite, ~close, ~same)
        relative = _ratio(absolute, np.abs(theirs), finite)
    return Difference(absolute, relative, finite, mismatched)


def _integers(actual: Array, expected: Array, tolerance: Tolerance) -> Difference:
    (less, ours), (below, theirs) = _sign_and_size(actual), _sign_and_size(expected)
    apart = np.maximum(ours, theirs) - np.minimum(ours, theirs)
    total = ours + theirs
    total[total < ours] = np.iinfo(np.uint64).max
    absolute = np.where(less == below, apart, total)
    allowed = tolerance.atol + tolerance.rtol * theirs.astype(np.float64)
    mismatched = (absolute > 0) & (absolute.astype(np.float64) > allowed)
    finite = np.ones(actual.shape, np.bool_)
    return Difference(absolute, _ratio(absolute, theirs, finite), finite, mismatched)


def _sign_and_size(integers: Array) -> tuple[Array, Array]:
    """Return which are negative, and their magnitudes: every 64-bit integer has both, exactly."""
    negative = np.less(integers, 0)
    sizes = integers.astype(np.uint64)
    return negative, np.where(negative, ~sizes + np.uint64(1), sizes)


def _ratio(absolute: Array, theirs: Array, finite: Array) -> Array:
    usable = finite & (theirs != 0)
    divisor = np.where(usable, theirs, 1).astype(np.float64)
    return np.where(usable, absolute.astype(np.float64) / divisor, 0.0)
