"""All errors of this package, to read and to import from one place.

TritoncError
  x ServerUnavailable   no usable answer: unreachable, disconnected, or 502, 503 or 504
  x UnexpectedAnswer    the answer is not from tritond: a wrong URL or a proxy
  x ProblemError        the service refused the request, with the reason (HTTP 4xx and 500)
  x CompileFailed       the kernel did not compile: diagnostics, reached stages
  x LaunchFailed        a launch did not run, or its verdict is not good if that was checked
  x ProgramFailed       a program did not run, or its verdict is not good if that was checked
  x ProofFailed         a proof found nothing out, for example about a kernel that does not compile
  x WaitExpired         `wait_s` is over but the work continues; ask again for the key

Values that JSON cannot represent raise Python's own TypeError before anything is sent.
"""

from tritonc.compilation import CompileFailed
from tritonc.launch import LaunchFailed
from tritonc.programs.program import ProgramFailed
from tritonc.proof import ProofFailed
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
    "ProofFailed",
    "ServerUnavailable",
    "TritoncError",
    "UnexpectedAnswer",
    "WaitExpired",
]
