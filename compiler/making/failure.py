"""The one way a task says that a compilation did not work.

Must not know of frames, pools or HTTP.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.excerpt import Diagnostic


class Failure(Exception):
    """An ordinary, named end of a task: an API `slug`, and the `stage` that was not reached."""

    def __init__(
        self, slug: str, stage: str, message: str, diagnostics: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.slug = slug
        self.stage = stage
        self.message = message
        self.diagnostics = list(diagnostics)
