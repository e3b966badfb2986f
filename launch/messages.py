"""What a worker and the children of launches say to each other: one definition for both sides.

Standard library only: children have no more, and a service that answers findings lacks NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


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
