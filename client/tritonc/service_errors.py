"""The errors that are about the service, not about a kernel: not reached, refused, not in time.

`tritonc.errors` draws these together with the failures of kernels.
"""

from tritonc.diagnostic import Fault, Problem, printable


class TritoncError(Exception):
    """Whatever this package raises on purpose. Its text may be a server's."""

    def __str__(self) -> str:
        """Return the message without what would drive a terminal."""
        return printable(super().__str__())


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
