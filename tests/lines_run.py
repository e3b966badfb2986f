"""Counts the lines of Python that a call runs: its work, the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class MoreLines(AssertionError):
    """The call ran more lines than it may."""


def lines_run(call: Callable[[], object], most: int) -> int:
    """Return the number of lines that `call` ran. Raises MoreLines as soon as it is above `most`.

    What a function written in C does is one line, however much it is.
    """
    count = 0

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        if count > most:
            raise MoreLines(f"more than {most:,} lines")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
