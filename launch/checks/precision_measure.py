"""Measures the difference of a float output from its reference, to detect lost precision.

Elements come in pieces, once; what is not finite on both sides is left out, as it is no matter of
precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from launch.buffers.element_types import Array, cast, readable
from launch.messages import Tolerance

MANTISSA_BITS = {
    "fp64": 53, "fp32": 24, "fp16": 11, "bf16": 8, "fp8e4nv": 4, "fp8e4b8": 4, "fp8e5": 3,
    "fp8e5b16": 3,
}  # fmt: skip
"""Mantissa bits of an element with the hidden one."""
_LEAST_EXPONENT = {
    "fp64": -1022, "fp32": -126, "fp16": -14, "bf16": -126, "fp8e4nv": -6, "fp8e4b8": -7,
    "fp8e5": -14, "fp8e5b16": -15,
}  # fmt: skip
_ROUNDING_OF_SPACING = 12**-0.5
"""Root mean square of what rounding to the nearest takes off, in spacings."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The difference of one output. All are ratios."""

    error: float
    """Root mean square of the difference, relative to that of the expected values."""
    roundings: float
    """The same over what rounding to the output's type alone gives."""
    beyond_one_ulp: float
    """Share of elements more than one unit in the last place apart, in the output's type."""
    spread: float
    """Mean over root mean square of the differences: near 0 where few elements differ a lot."""
    tolerance_used: float | None
    """The largest difference relative to its tolerance; None if the tolerance is zero."""
    reference_is_rounded: bool
    """True if all expected values are representable in the output's type."""


MOST_MEASURED = 1 << 20
"""Elements, about: of a larger output every n-th piece is measured, with n odd."""


class PrecisionMeter:
    """The measurements of one output of `size` elements so far."""

    def __init__(self, dtype: str, tolerance: Tolerance, size: int) -> None:
        self._dtype, self._tolerance = dtype, tolerance
        self._every = -(-size // MOST_MEASURED) | 1
        self._pieces = 0
        self._squares = self._expected_squares = self._rounding_squares = 0.0
        self._distance = 0.0
        self._compared = self._beyond = 0
        self._used = 0.0
        self._is_rounded = True

    def add(self, actual: Array, expected: Array) -> None:
        """Take the next numbers of both sides; pieces are of one size."""
        self._pieces += 1
        if (self._pieces - 1) % self._every:
            return
        ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(ours) & np.isfinite(theirs)
        if not finite.all():
            ours, theirs = ours[finite], theirs[finite]
        if not ours.size:
            return
        with np.errstate(all="ignore"):
            self._add(np.abs(ours - theirs), theirs)

    def _add(self, distance: Array, expected: Array) -> None:
        spacing = self._spacing(expected)
        size = np.abs(expected)
        self._squares += float(np.square(distance).sum())
        self._expected_squares += float(np.square(expected).sum())
        self._rounding_squares += float(np.square(spacing * _ROUNDING_OF_SPACING).sum())
        self._distance += float(distance.sum())
        self._compared += int(np.count_nonzero((size > 0) | (distance > 0)))
        self._beyond += int(np.count_nonzero(distance > spacing))
        allowed = self._tolerance.atol + self._tolerance.rtol * size
        share = np.divide(distance, allowed, out=np.full(size.shape, np.inf), where=allowed > 0)
        self._used = max(self._used, float(share.max(where=distance > 0, initial=0)))
        if self._is_rounded:
            rounded = readable(cast(expected, self._dtype), self._dtype)
            self._is_rounded = bool(np.array_equal(rounded.astype(np.float64), expected))

    def _spacing(self, expected: Array) -> Array:
        """Return how far the next number of the output's type is, for each element."""
        _, exponent = np.frexp(expected)
        exponent = np.maximum(exponent - 1, _LEAST_EXPONENT[self._dtype])
        found: Array = np.ldexp(1.0, exponent - (MANTISSA_BITS[self._dtype] - 1))
        return found

    def result(self) -> Measured | None:
        """Return what all elements come to; None where nothing differs or is to be measured."""
        sums = self._squares, self._expected_squares, self._rounding_squares
        if not self._compared or not all(np.isfinite(sums)) or not all(sums):
            return None
        rms = (self._squares / self._compared) ** 0.5
        return Measured(
            error=(self._squares / self._expected_squares) ** 0.5,
            roundings=(self._squares / self._rounding_squares) ** 0.5,
            beyond_one_ulp=self._beyond / self._compared,
            spread=self._distance / self._compared / rms,
            tolerance_used=self._used if np.isfinite(self._used) else None,
            reference_is_rounded=self._is_rounded,
        )
