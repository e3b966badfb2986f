"""Compares two arrays of one shape piece by piece, while a piece is in the processor's cache.

Allocates nothing of the size of a whole output. A piece that both sides wrote, with finite values
only, needs a few passes. Any other piece takes the general path, which gives equal results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.messages import Tolerance
from launch.reference.compared_elements import ComparedElements

PIECE = 1 << 14
"""Elements in a piece: a few float64 arrays of this length fit into a cache of 1 MiB."""


def pieces(size: int, most: int) -> Iterator[slice]:
    """Yield slices of at most `most` elements that cover `size` elements."""
    for start in range(0, size, most):
        yield slice(start, min(start + most, size))


@dataclass(frozen=True)
class Unwritten:
    """Flat masks of unwritten elements; None if every element was written."""

    actual: Array | None = None
    expected: Array | None = None
    """Elements that a reference kernel did not write."""

    def of(self, part: slice) -> Unwritten:
        """Return the masks of a slice; None for a side that wrote all of it."""
        return Unwritten(_any(self.actual, part), _any(self.expected, part))


def _any(bits: Array | None, part: slice) -> Array | None:
    return None if bits is None or not bits[part].any() else bits[part]


@dataclass(frozen=True)
class Difference:
    """The differences of two arrays, element by element."""

    absolute: Array
    """|actual - expected|; 0 where `finite` is false."""
    relative: Array
    """|actual - expected| / |expected|; 0 where expected is 0."""
    finite: Array
    """True where both sides are finite."""
    mismatched: Array


class Comparer:
    """Compares numbers of both sides; callers add elements in order."""

    def __init__(self, shape: tuple[int, ...], tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._found = ComparedElements(shape, tolerance)
        self._distance, self._size = np.empty(PIECE), np.empty(PIECE)
        self._was_equal = True
        """True while every slice was bitwise equal: then test for equality first."""

    def add(
        self, start: int, actual: Array, expected: Array, missing: Unwritten, stored: Array
    ) -> None:
        """Add the numbers that follow the first `start`.

        `stored` holds the actual elements as in memory, to show the bits of an unwritten one.
        """
        self._look_for_zeros(expected)
        self._was_equal = self._was_equal and _are_equal_and_finite(actual, expected, missing)
        if self._was_equal:
            self._found.compared += actual.size
            return
        for part in pieces(actual.size, PIECE):
            left, right, gone = actual[part], expected[part], missing.of(part)
            known = gone.actual is None and gone.expected is None
            if not (known and self._take_ordinary(start + part.start, left, right)):
                self._take(start + part.start, left, right, gone, stored[part])

    def add_equal(self, count: int, *, zeros: bool) -> None:
        """Add elements known to be finite, written and equal; `zeros` if all of them are 0."""
        self._found.compared += count
        self._found.zeros_match = self._found.zeros_match and zeros

    def _look_for_zeros(self, expected: Array) -> None:
        """Check whether zeros would match, too; mostly the first piece rules it out."""
        for part in pieces(expected.size, PIECE):
            if not self._found.zeros_match:
                return
            self._found.note_expected(float(np.abs(expected[part].astype(np.float64)).max()))

    @property
    def all_finite(self) -> bool:
        """True if both sides wrote every element and no mismatch involves NaN or infinity."""
        return self._found.all_finite

    def result(self) -> dict[str, Any]:
        """Return the comparison in the form of a launch's record."""
        return self._found.result()

    def _take_ordinary(self, start: int, left: Array, right: Array) -> bool:
        """Add a piece if it has no special values; return True if it was added."""
        if left.dtype.kind == "f" or right.dtype.kind == "f":
            with np.errstate(all="ignore"):
                return self._take_finite(start, left, right)
        if left.dtype != right.dtype or not np.array_equal(left, right):
            return False
        self._found.compared += left.size
        return True

    def _take_finite(self, start: int, left: Array, right: Array) -> bool:
        distance, size = self._distance[: left.size], self._size[: left.size]
        np.subtract(left, right, out=distance, dtype=np.float64)
        np.abs(distance, out=distance)
        largest = distance.max()
        if not np.isfinite(largest):  # one of the two numbers is not finite
            return False
        self._found.compared += left.size
        if largest == 0:
            return True
        np.abs(right, out=size, dtype=np.float64)
        self._found.note_errors(largest.item(), _largest_ratio(distance, size))
        size *= self._tolerance.rtol
        size += self._tolerance.atol
        close = distance <= size
        mismatched = left.size - int(np.count_nonzero(close))
        if mismatched:
            place = int(close.argmin())
            self._found.show(start + place, left[place], right[place])
            self._found.map.note(start, ~close)
        self._found.mismatched += mismatched
        return True

    def _take(
        self, start: int, left: Array, right: Array, missing: Unwritten, stored: Array
    ) -> None:
        """Add any piece, special values included."""
        exact = left.dtype.kind != "f" and right.dtype.kind != "f"
        difference = (_integers if exact else _floats)(left, right, self._tolerance)
        is_unwritten, known = _written_once(missing, left.size)
        wrong = (difference.mismatched | is_unwritten) & known
        if wrong.any():
            self._found.map.note(start, wrong)
            place = int(wrong.argmax())
            # show an unwritten boolean as its byte, not as true
            shown_as = left if not is_unwritten[place] or left.dtype.kind != "b" else stored
            self._found.show(start + place, shown_as[place], right[place])
        self._found.mismatched += int(wrong.sum())
        self._found.nonfinite += int((wrong & ~difference.finite).sum())
        self._found.unwritten += int(is_unwritten.sum())
        self._found.compared += int(known.sum())
        self._found.note_errors(
            difference.absolute.max(where=known, initial=0).item(),
            difference.relative.max(where=known, initial=0).item(),
        )


def _largest_ratio(distance: Array, size: Array) -> float:
    """Return the largest distance / size, counting 0 where a size is 0."""
    if size.min() > 0:
        return float((distance / size).max())
    ratio = np.divide(distance, size, out=np.zeros(size.shape), where=size != 0)
    return float(ratio.max())


def _written_once(missing: Unwritten, count: int) -> tuple[Array, Array]:
    """Return masks of the elements that one side wrote, and that at least one wrote."""
    ours, theirs = (
        np.zeros(count, np.bool_) if side is None else side
        for side in (missing.actual, missing.expected)
    )
    return ours ^ theirs, ~(ours & theirs)


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
    """Return a mask of negative integers, and exact magnitudes as unsigned 64-bit integers."""
    negative = np.less(integers, 0)
    sizes = integers.astype(np.uint64)
    return negative, np.where(negative, ~sizes + np.uint64(1), sizes)


def _ratio(absolute: Array, theirs: Array, finite: Array) -> Array:
    usable = finite & (theirs != 0)
    divisor = np.where(usable, theirs, 1).astype(np.float64)
    return np.where(usable, absolute.astype(np.float64) / divisor, 0.0)


def _are_equal_and_finite(left: Array, right: Array, missing: Unwritten) -> bool:
    """Return True if all elements are written, finite and bitwise equal.

    False only means that the general path must decide.
    """
    if missing.actual is not None or missing.expected is not None:
        return False
    if left.dtype != right.dtype or left.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        total = left.sum(dtype=np.promote_types(left.dtype, np.float32))
        if not np.isfinite(total):  # NaN and infinities survive in a sum
            return False
    bits = np.dtype(f"u{left.dtype.itemsize}")
    return bool((left.view(bits) == right.view(bits)).all())


def scaled(tolerance: Tolerance, expected: Iterable[Array]) -> Tolerance:
    """Return the tolerance with an absolute `atol`, scaled by the RMS of the expected elements.

    The root mean square covers the finite elements only. It holds a few huge or many tiny elements
    to the usual magnitude (KernelBench#165). `expected` yields the elements in parts.
    """
    if tolerance.atol_scale == "absolute":
        return tolerance
    total, count = 0.0, 0
    for part in expected:
        numbers = part.astype(np.float64)
        finite = numbers[np.isfinite(numbers)]
        with np.errstate(over="ignore"):
            total += float(np.square(finite).sum())
        count += finite.size
    rms = float(np.sqrt(total / count)) if count else 0.0
    return replace(tolerance, atol=tolerance.atol * rms, atol_scale="absolute")
