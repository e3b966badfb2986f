"""Counts the compared elements of one output, as a launch's record reports them.

NumPy compares elements on the host, torch compares them on the GPU. Both count them here.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compiler.json_number import written_number
from launch.messages import Tolerance
from launch.reference.mismatch_map import MismatchCounter


@dataclass(slots=True)
class ComparedElements:
    """Counts for two arrays of one shape. `compared` excludes elements unwritten on both sides."""

    shape: tuple[int, ...]
    tolerance: Tolerance
    compared: int = 0
    mismatched: int = 0
    nonfinite: int = 0
    """Mismatches where one side is not finite, or both are and differ."""
    unwritten: int = 0
    """Mismatches that only one side wrote."""
    absolute: Any = 0
    """The largest |actual - expected|, as a Python number."""
    relative: Any = 0
    zeros_match: bool = True
    """True if all expected values so far are within the tolerance of zero."""
    first: dict[str, Any] | None = None
    map: MismatchCounter = field(init=False)

    def __post_init__(self) -> None:
        self.map = MismatchCounter(self.shape)

    def note_errors(self, absolute: Any, relative: Any) -> None:
        """Add the largest errors of more elements."""
        self.absolute = max(self.absolute, absolute)
        self.relative = max(self.relative, relative)

    def note_expected(self, largest: float) -> None:
        """Add the largest magnitude of more expected elements."""
        allowed = self.tolerance.atol + self.tolerance.rtol * largest
        self.zeros_match = self.zeros_match and math.isfinite(largest) and largest <= allowed

    def show(self, place: int, actual: Any, expected: Any) -> None:
        """Record the mismatch at the flat index `place`, unless there was an earlier one."""
        if self.first is None:
            index = [int(position) for position in np.unravel_index(place, self.shape)]
            self.first = {
                "index": index,
                "actual": written_number(actual),
                "expected": written_number(expected),
            }

    @property
    def all_finite(self) -> bool:
        """True if both sides wrote every element and no mismatch involves NaN or infinity."""
        return self.nonfinite == self.unwritten == 0

    def result(self) -> dict[str, Any]:
        """Return the counts in the form of a launch's record."""
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
