"""Bounds the CPU time of code at module level, and names the line that used it up.

The sandbox sends SIGXCPU after each second of CPU time. Python then raises at the line that runs;
within a long call of C code it cannot, so the C library's handler also writes the lines to stderr,
where the worker finds them if it has to kill the child.
"""

import faulthandler
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from compiler.front.environment import executing_line

MOST_CPU_S = 30.0
"""The CPU time that a source and all it imports may take."""
_STDERR = 2


class CpuBudgetUsedUp(BaseException):
    """Module-level code took too long, at the file and line `place`, if any of it was running."""

    def __init__(self, place: tuple[str, int] | None) -> None:
        super().__init__()
        self.place = place


@contextmanager
def bounded(most_cpu_s: float, *, writes_lines: bool = True) -> Iterator[None]:
    """Raise `CpuBudgetUsedUp` in the block once it has taken `most_cpu_s`.

    To be used in the main thread. `writes_lines`: the lines are written to stderr from then on for
    good.
    """
    end_s = time.process_time() + most_cpu_s
    running = True

    def notice(_number: int, _frame: FrameType | None) -> None:
        if running and time.process_time() > end_s:
            raise CpuBudgetUsedUp(executing_line())

    faulthandler.unregister(signal.SIGXCPU)  # of a zygote: registered twice, it does nothing
    signal.signal(signal.SIGXCPU, notice)
    if writes_lines:
        faulthandler.register(signal.SIGXCPU, file=_STDERR, all_threads=False, chain=True)
    try:
        yield
    finally:
        running = False
