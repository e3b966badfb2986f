"""tritonc: compile Triton GPU kernels on a tritond service, from any machine, without a GPU."""

from tritonc.async_client import AsyncClient
from tritonc.client import Client
from tritonc.compilation import Artifact, Compilation
from tritonc.diagnostic import Diagnostic
from tritonc.errors import (
    CompileFailed,
    ProblemError,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
    WaitExpired,
)
from tritonc.problem import Fault, Problem
from tritonc.request import FurtherMembers
from tritonc.version import __version__

__all__ = [
    "Artifact",
    "AsyncClient",
    "Client",
    "Compilation",
    "CompileFailed",
    "Diagnostic",
    "Fault",
    "FurtherMembers",
    "Problem",
    "ProblemError",
    "ServerUnavailable",
    "TritoncError",
    "UnexpectedAnswer",
    "WaitExpired",
    "__version__",
]
