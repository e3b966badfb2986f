"""The state of a running compilation: stages, diagnostics, times; kept when it fails."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.compilation import AssumedValue, Parameter
from compiler.diagnostic import Assumption, Diagnostic
from compiler.problem import Problem, failure_problem
from store.compilations import Derived


class CompilationFailed(Exception):
    """Ends a compilation with a named failure; the progress keeps the stages reached."""

    def __init__(
        self,
        slug: str,
        detail: str,
        diagnostics: Sequence[Diagnostic] = (),
        parameter: str | None = None,
        *,
        reason: str | None = None,
        needs: Sequence[str] = (),
    ) -> None:
        super().__init__(detail)
        self.slug = slug
        self.reason = reason
        self.needs = list(needs)
        self.diagnostics = list(diagnostics)
        self.parameter = parameter

    def problem(self, detail: str | None = None) -> Problem:
        """Return the failure as a problem, in the words of `detail` if there is one."""
        return failure_problem(
            self.slug,
            detail or str(self),
            self.parameter,
            reason=self.reason,
            diagnostics=self.diagnostics,
            needs=self.needs,
        )


@dataclass(frozen=True, slots=True)
class Reusable:
    """A result that other jobs may use; it is stored when this job is done."""

    level: Derived
    key: str
    value: bytes
    stages: tuple[str, ...]
    """Names of stages of the progress, whose blobs belong to the result."""


@dataclass(slots=True)
class Progress:
    """Stages reached and what was learned on the way."""

    kernel: str | None = None
    stages: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of the stages that came from the store."""
    reusable: list[Reusable] = field(default_factory=list)
    timings_ms: dict[str, float] = field(default_factory=dict)
    made_ms: dict[str, float] = field(default_factory=dict)
    """Times of the stages that children of this compilation made."""
    lookups: list[tuple[str, str]] = field(default_factory=list)
    """Levels at which results were looked up in the cache: front or back, hit or miss."""
    parameters: tuple[Parameter, ...] = ()
    diagnostics: list[Diagnostic] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    assumed: list[AssumedValue] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)
    stdout: str = ""
    metadata: dict[str, Any] | None = None
    resources: dict[str, int] | None = None
