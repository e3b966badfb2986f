"""The work that this task is for, for log lines: the request, the job, the caller and the worker.

A middleware sets it where a request begins, a consumer where an attempt does. Tasks that these
start have it, too. A job carries the id of its request along, so that its worker knows it.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

REQUEST_ID: Final = "request_id"
CALLER_ID: Final = "caller_id"
KEY: Final = "key"
WORKER: Final = "worker"

WORK: ContextVar[Mapping[str, Any]] = ContextVar("work", default=MappingProxyType({}))
"""Read when a line is logged: what a request learns later, such as its caller, is there then."""


def request_id() -> str:
    """Return the id of the request that this work is for; "" where there is none."""
    return str(WORK.get().get(REQUEST_ID, ""))


def job_id() -> str:
    """Return the id of the job that this work is for; "-" where there is none."""
    return str(WORK.get().get(KEY, "-"))


def caller_id() -> str:
    """Return the id of the caller that this work is for; "" where there is none."""
    return str(WORK.get().get(CALLER_ID, ""))
