"""Errors of the service rather than of a kernel: unreachable, refused, not in time.

`tritonc.errors` exports these together with the failures of kernels.
"""

from tritonc.diagnostic import FieldError, Problem, printable


class TritoncError(Exception):
    """Base of all errors of this package. The message may come from a server."""

    def __str__(self) -> str:
        """Return the message with control characters escaped."""
        return printable(super().__str__())


class ServerUnavailable(TritoncError):
    """The service is unreachable or cannot serve now; the same call may work later.

    `problem` is set if the service itself reported it, `retry_after_s` if it sent Retry-After.
    """

    def __init__(
        self, message: str, problem: Problem | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.problem = problem
        self.retry_after_s = retry_after_s


class UnexpectedAnswer(TritoncError):
    """The answer is not from a tritond service; the URL is probably wrong."""


class ProblemError(TritoncError):
    """The service refused the request; `retry_after_s` is set if it sent Retry-After."""

    def __init__(self, problem: Problem, status: int, retry_after_s: float | None = None) -> None:
        super().__init__(f"{status} {problem.slug}: {problem}" if problem.slug else str(problem))
        self.problem = problem
        self.status = status
        self.retry_after_s = retry_after_s

    @property
    def slug(self) -> str:
        """The problem's name for programs, such as `not_found`; empty if there is none."""
        return self.problem.slug

    @property
    def errors(self) -> tuple[FieldError, ...]:
        """The errors of the request, each with the JSON pointer of its member."""
        return self.problem.errors


class WaitExpired(TritoncError):
    """The wait is over before the work.

    `key` is the key of the compilation, or the id of the job, to ask for; None if the same request
    must be sent again.
    """

    def __init__(self, key: str | None, waited_for: str, wait_s: float) -> None:
        again = "ask again" if key is None else f"ask again for {key}"
        super().__init__(
            f"{waited_for} after waiting {round(wait_s, 2):g} s; {again}, or wait longer. "
            "`tritonc system` shows whether a worker runs"
        )
        self.key = key
