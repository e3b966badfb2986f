"""Every way a call can fail.

TritoncError
 x ServerUnavailable   no answer of use: not reachable, broke off, or said 502, 503 or 504
 x UnexpectedAnswer    something answered, but not as tritond does: a wrong URL or a proxy
 x ProblemError        the service refused the request and says why (HTTP 4xx and 500)
 x CompileFailed       the request was fine, the kernel was not: diagnostics, stages reached
 x LaunchFailed        a launch did not run, or its verdict is not good where that was asked
 x WaitExpired         `wait_s` is over and the work is not; it goes on, ask again for the key

Values that cannot be written as JSON raise Python's own TypeError before anything is sent.
"""

from typing import TYPE_CHECKING

from tritonc.diagnostic import POSTED_SOURCE, Diagnostic, render_all
from tritonc.problem import Fault, Problem

if TYPE_CHECKING:
    from tritonc.compilation import Compilation
    from tritonc.launch import Launch


class TritoncError(Exception):
    """Whatever this package raises on purpose."""


class ServerUnavailable(TritoncError):
    """The service cannot be reached, or cannot serve now; the same call may work later.

    `problem` is there when the service itself said so, `retry_after_s` when it said when.
    """

    def __init__(
        self, message: str, problem: Problem | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.retry_after_s = retry_after_s


class UnexpectedAnswer(TritoncError):
    """The answer is not one that a tritond service gives; the URL is probably wrong."""


class ProblemError(TritoncError):
    """The service refused the request; `retry_after_s` is set when it said when to come back."""

    def __init__(self, problem: Problem, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(f"{status} {problem.slug}: {problem}" if problem.slug else str(problem))
        self.problem = problem
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def slug(self) -> str:
        """The problem's name for programs, such as `not_found`; empty when there is none."""
        return self.problem.slug

    @property
    def errors(self) -> tuple[Fault, ...]:
        """What is wrong with the request, each with the JSON pointer of its place."""
        return self.problem.errors


class CompileFailed(TritoncError):
    """A compilation ended without success; it reads like a compiler's output.

    `compilation` holds what there is: the artifacts of the stages reached are in it.
    """

    def __init__(self, compilation: "Compilation") -> None:
        super().__init__(compilation.key)
        self.compilation = compilation

    @property
    def problem(self) -> Problem | None:
        """Why, in one object; None for a compilation that was cancelled."""
        return self.compilation.problem

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the compiler said, with places in the source."""
        return self.compilation.diagnostics

    def render(self, source_name: str = POSTED_SOURCE) -> str:
        """Return diagnostics and outcome, the posted source being called `source_name`."""
        parts = [render_all(self.diagnostics, source_name)] if self.diagnostics else []
        if not any(d.severity == "error" for d in self.diagnostics):
            parts.append(f"error: {self.problem or f'the compilation is {self.compilation.state}'}")
        return "\n".join([*parts, self._outcome()])

    def __str__(self) -> str:
        """Return what `render` does under the service's own file names."""
        return self.render()

    def _outcome(self) -> str:
        slug = self.problem.slug if self.problem else self.compilation.state
        reached = ", ".join(self.compilation.artifacts) or "none"
        again = "; may work when tried again" if self.problem and self.problem.retryable else ""
        return f"{slug or 'failed'} (stages reached: {reached}{again})"


class LaunchFailed(TritoncError):
    """A launch that did not run, or whose verdict is not good; it reads like its report.

    `launch` holds what there is: problem, compilation, verdict, findings, outputs.
    """

    def __init__(self, launch: "Launch") -> None:
        super().__init__(launch.id)
        self.launch = launch

    def __str__(self) -> str:
        """Return the report of the launch."""
        return self.launch.render()


class WaitExpired(TritoncError):
    """The time to wait is over before the work is.

    `key` is the key of the compilation, or the id of the launch, to ask for; None where it is the
    same request that asks again.
    """

    def __init__(self, key: str | None, waited_for: str, wait_s: float) -> None:
        again = "ask again" if key is None else f"ask again for {key}"
        super().__init__(
            f"{waited_for} after waiting {wait_s:g} s; the work goes on: {again}, or wait longer"
        )
        self.key = key
