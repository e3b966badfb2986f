"""Every way a call can fail, in one place to read and to import from.

TritoncError
 x ServerUnavailable   no answer of use: not reachable, broke off, or answered 502, 503 or 504
 x UnexpectedAnswer    something answered, but not as tritond does: a wrong URL or a proxy
 x ProblemError        the service refused the request and says why (HTTP 4xx and 500)
 x CompileFailed       the request was fine, the kernel was not: diagnostics, stages reached
 x LaunchFailed        a launch did not run, or its verdict is not good where that was asked
 x ProgramFailed       a program did not run, or its verdict is not good where that was asked
 x WaitExpired         `wait_s` is over and the work is not; it goes on, ask again for the key

Values that cannot be written as JSON raise Python's own TypeError before anything is sent.
"""

from tritonc.compilation import CompileFailed
from tritonc.launch import LaunchFailed
from tritonc.programs.program import ProgramFailed
from tritonc.service_errors import (
    ProblemError,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
    WaitExpired,
)

__all__ = [
    "CompileFailed",
    "LaunchFailed",
    "ProblemError",
    "ProgramFailed",
    "ServerUnavailable",
    "TritoncError",
    "UnexpectedAnswer",
    "WaitExpired",
]
