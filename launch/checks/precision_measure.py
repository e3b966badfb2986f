"""Measures the precision loss of a float output against its reference.

Elements arrive in pieces, once. Elements that are not finite on both sides are skipped, because
they are no matter of precision.
"""

from dataclasses import dataclass
from random import SystemRandom

import numpy as np

from launch.buffers.element_types import Array, cast, readable
from launch.messages import Tolerance

MANTISSA_BITS = {
    "fp64": 53, "fp32": 24, "fp16": 11, "bf16": 8, "fp8e4nv": 4, "fp8e4b8": 4, "fp8e5": 3,
    "fp8e5b16": 3,
}  # fmt: skip
"""Mantissa bits by dtype, including the hidden bit."""
_MIN_EXPONENT = {
    "fp64": -1022, "fp32": -126, "fp16": -14, "bf16": -126, "fp8e4nv": -6, "fp8e4b8": -7,
    "fp8e5": -14, "fp8e5b16": -15,
}  # fmt: skip
_ROUNDING_OF_SPACING = 12**-0.5
"""The root mean square error of rounding to nearest, in spacings."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The difference of one output from its reference. All values are ratios."""

    error: float
    """The root mean square of the difference, divided by that of the expected values."""
    roundings: float
    """The same difference, divided by the error of rounding to the output's type."""
    beyond_one_ulp: float
    """The share of elements that differ by more than one unit in the output's last place."""
    spread: float
    """Mean divided by root mean square of the differences: near 0 if few elements differ a lot."""
    tolerance_used: float | None
    """The largest difference divided by its tolerance; None: the tolerance is zero."""
    reference_is_rounded: bool
    """True if the output's type represents all expected values exactly."""


MAX_MEASURED = 1 << 20
"""About how many elements to measure: larger outputs measure a random one of n pieces, n odd."""


class PrecisionMeter:
    """Accumulates the measurements of one output of `size` elements."""

    def __init__(self, dtype: str, tolerance: Tolerance, size: int) -> None:
        self._dtype, self._tolerance = dtype, tolerance
        self._every = -(-size // MAX_MEASURED) | 1
        self._pieces = self._chosen = 0
        self._random = SystemRandom()
        self._squares = self._expected_squares = self._rounding_squares = 0.0
        self._distance = 0.0
        self._compared = self._beyond = 0
        self._used = 0.0
        self._is_rounded = True

    def add(self, actual: Array, expected: Array) -> None:
        """Add the next elements of both sides; all pieces have the same size."""
        at = self._pieces % self._every
        self._pieces += 1
        if at == 0:
            self._chosen = self._random.randrange(self._every)
        if at != self._chosen:
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
        """Return the distance from each element to the next number of the output's type."""
        _, exponent = np.frexp(expected)
        exponent = np.maximum(exponent - 1, _MIN_EXPONENT[self._dtype])
        spacing: Array = np.ldexp(1.0, exponent - (MANTISSA_BITS[self._dtype] - 1))
        return spacing

    def result(self) -> Measured | None:
        """Return the measurements of all elements; None if nothing differs or was measured."""
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
