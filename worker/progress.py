"""What a compilation has come to so far: filled while it runs, and kept when it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.compilation import Diagnostic, Parameter


class CompilationFailed(Exception):
    """Ends a compilation with a named failure; what was reached stays in the progress."""

    def __init__(
        self,
        slug: str,
        detail: str,
        diagnostics: Sequence[Diagnostic] = (),
        parameter: str | None = None,
    ) -> None:
        super().__init__(detail)
        self.slug = slug
        self.diagnostics = list(diagnostics)
        self.parameter = parameter


@dataclass(slots=True)
class Progress:
    """Stages reached and what was learned on the way."""

    kernel: str | None = None
    stages: dict[str, bytes] = field(default_factory=dict)
    timings_ms: dict[str, float] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    stdout: str = ""
    metadata: dict[str, Any] | None = None
    ptxas: dict[str, int] | None = None
