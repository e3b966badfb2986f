"""The state of a comparison: the numbers of a launch's record, for every comparing side.

Elements are compared by NumPy on the host, or by torch where they lie; here they are counted alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.json_number import written_number
from launch.messages import Tolerance
from launch.reference.mismatch_map import MismatchMap


@dataclass(slots=True)
class ComparedElements:
    """Counts of two arrays of one shape; elements unwritten on both sides are not `compared`."""

    shape: tuple[int, ...]
    tolerance: Tolerance
    compared: int = 0
    mismatched: int = 0
    nonfinite: int = 0
    """Mismatches with one side not finite, or both not finite and different."""
    unwritten: int = 0
    """Mismatches written by only one side."""
    absolute: Any = 0
    """The largest |actual - expected|, a number of Python's."""
    relative: Any = 0
    zeros_match: bool = True
    """True if all expected values so far are within the tolerance of zero."""
    first: dict[str, Any] | None = None
    map: MismatchMap = field(init=False)

    def __post_init__(self) -> None:
        self.map = MismatchMap(self.shape)

    def note_errors(self, absolute: Any, relative: Any) -> None:
        """Take the largest errors of more elements."""
        self.absolute = max(self.absolute, absolute)
        self.relative = max(self.relative, relative)

    def note_expected(self, largest: float) -> None:
        """Take the largest size of more elements that were expected."""
        allowed = self.tolerance.atol + self.tolerance.rtol * largest
        self.zeros_match = self.zeros_match and math.isfinite(largest) and largest <= allowed

    def show(self, place: int, actual: Any, expected: Any) -> None:
        """Record the mismatch at a flat `place`, unless there was an earlier one."""
        if self.first is None:
            index = [int(position) for position in np.unravel_index(place, self.shape)]
            self.first = {
                "index": index,
                "actual": written_number(actual),
                "expected": written_number(expected),
            }

    @property
    def all_finite(self) -> bool:
        """Return True if both sides wrote all, and are finite or not finite together."""
        return self.nonfinite == self.unwritten == 0

    def result(self) -> dict[str, Any]:
        """Return what all elements come to, as a launch's record has it."""
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
