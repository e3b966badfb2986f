"""What a worker and the children of launches say to each other: one definition for both sides.

Standard library only: children have no more, and a service that answers findings lacks NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Tolerance:
    """How far an output may be from what was expected."""

    rtol: float = 0.0
    atol: float = 0.0
    equal_nan: bool = False
    max_mismatched_ratio: float = 0.0
    """Of the elements compared; one that is not finite, should not have been, or that nobody wrote
    is never within it."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a run did wrong, at the user's own line where that is known."""

    kind: str
    access: Literal["read", "write"] | None = None
    argument: str | None = None
    index: list[int] | None = None
    file: str | None = None
    line: int | None = None
    program: list[int] | None = None
    message: str
