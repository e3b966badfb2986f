"""The one way a task says that a compilation did not work.

Must not know of frames, pools or HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.addresses import without_addresses
from compiler.excerpt import Diagnostic

MAX_TEXT_CHARS = 10_000


class Failure(Exception):
    """An ordinary, named end of a task: an API `slug`, and the `stage` that was not reached."""

    def __init__(
        self, slug: str, stage: str, message: str, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.slug = slug
        self.stage = stage
        self.conclusive = False
        """Whether nothing stood in for anything while the source was executed."""
        self.message = _bounded(without_addresses(message))
        self.diagnostics = [
            {key: _bounded(value) for key, value in diagnostic.items()}
            for diagnostic in diagnostics
        ]


def _bounded(value: Any) -> Any:
    """Cut texts that only the user's code bounds: an exception may say megabytes."""
    if isinstance(value, str) and len(value) > MAX_TEXT_CHARS:
        return f"{value[:MAX_TEXT_CHARS]}... ({len(value):,} characters)"
    return value
