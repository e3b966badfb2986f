"""What is known of a comparison so far: the numbers of a launch's record, whoever compares.

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
    """Of two arrays of one shape; what neither side wrote is not `compared`."""

    shape: tuple[int, ...]
    tolerance: Tolerance
    compared: int = 0
    mismatched: int = 0
    nonfinite: int = 0
    """Of those mismatched: one side is not finite, or both are and not the same."""
    unwritten: int = 0
    """Of those mismatched: one side wrote it and the other did not."""
    absolute: Any = 0
    """The largest |actual - expected|, a number of Python's."""
    relative: Any = 0
    zeros_match: bool = True
    """Whether all that was expected so far is within the tolerance of zero."""
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
        """Take the mismatch at a flat `place`, unless there was one before."""
        if self.first is None:
            index = [int(position) for position in np.unravel_index(place, self.shape)]
            self.first = {
                "index": index,
                "actual": written_number(actual),
                "expected": written_number(expected),
            }

    @property
    def all_finite(self) -> bool:
        """Whether both sides wrote all, and are finite or strange together."""
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
