"""Time that the job of this task used: processor time of its children, and time on a GPU.

`begin` opens the account of a task; tasks that it starts charge the same one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from worker.pool.child_outcome import Usage


@dataclass(slots=True)
class JobAccount:
    """Seconds used so far."""

    cpu_s: float = 0.0
    """By the account of a child that finished, by the kernel's of one that was ended."""
    children_s: float = 0.0
    """Time that children were at work, by this process's clock."""
    gpu_s: float = 0.0


_CURRENT: ContextVar[JobAccount | None] = ContextVar("job_account", default=None)


def begin() -> JobAccount:
    """Open the account of this task's job."""
    account = JobAccount()
    _CURRENT.set(account)
    return account


def charge_child(usage: Usage | None, seconds: float) -> None:
    """Charge a child that was at work for `seconds`; outside of a job no caller is charged."""
    if (account := _CURRENT.get()) is not None:
        account.children_s += seconds
        account.cpu_s += usage.cpu_s if usage is not None else 0.0


@contextmanager
def on_gpu(charge: Callable[[float], None]) -> Iterator[None]:
    """Charge the time that the block takes, and have it charged elsewhere too."""
    started = time.monotonic()
    try:
        yield
    finally:
        seconds = time.monotonic() - started
        charge(seconds)
        if (account := _CURRENT.get()) is not None:
            account.gpu_s += seconds
