"""Measures the CPU time of each step of an event loop, names the slow ones, and measures its lag.

A step is one call that the loop makes: a task runs to its next wait, or a callback to its end. All
else in the process waits for it. Only the thread's CPU time counts, so a busy machine changes
nothing. Measuring takes a microsecond a step, and is off unless someone asks for it: by a log of
level `debug`, or by a folder for the steps that took longest.
"""

import asyncio
import json
import logging
import os
import sys
import time
from asyncio import events
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from prometheus_client import Histogram

LOGGED_S: Final = 0.1
"""A longer step is logged."""
RECORDED_S: Final = 0.25
"""A longer step is recorded in the folder."""
_MAX_DEPTH: Final = 16
_MAX_CHARS: Final = 200
logger = logging.getLogger(__name__)
EVERY_S: Final = 0.1


class LoopSteps:
    """Measures steps; with a `folder`, writes slow ones to a file there, one for each process."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    @property
    def is_wanted(self) -> bool:
        """True if a slow step would be seen by anyone."""
        return self._folder is not None or logger.isEnabledFor(logging.DEBUG)

    def measured(self, callback: Callable[..., Any], *arguments: Any) -> Any:
        """Return what `callback` returns, called as a step of a loop."""
        began_s = time.thread_time()
        try:
            return callback(*arguments)
        finally:
            spent_s = time.thread_time() - began_s
            if spent_s > LOGGED_S:
                self._note(callback, spent_s)

    def measure_asyncio(self) -> None:
        """Measure every step of every loop of asyncio in this process, from now on."""
        run = events.Handle._run

        def measured_run(handle: Any) -> None:
            began_s = time.thread_time()
            callback = handle._callback  # the handle forgets it when it is cancelled
            try:
                run(handle)
            finally:
                spent_s = time.thread_time() - began_s
                if spent_s > LOGGED_S:
                    self._note(callback, spent_s)

        events.Handle._run = measured_run  # type: ignore[method-assign,assignment]

    def _note(self, callback: Callable[..., Any], spent_s: float) -> None:
        name = step_name(callback)
        logger.debug("a step of the event loop took %.0f ms of CPU time: %s", spent_s * 1000, name)
        if self._folder is not None and spent_s > RECORDED_S:
            record = {
                "time_s": time.time(),
                "cpu_s": round(spent_s, 3),
                "step": name,
                "process": [os.getpid(), *sys.argv],
            }
            with (self._folder / f"{os.getpid()}.jsonl").open("a") as file:
                file.write(json.dumps(record) + "\n")


def step_name(callback: Callable[..., Any]) -> str:
    """Return whose step a callback is: a task and the coroutines that it waits in, or a function.

    The first coroutine is the task's own. Each has the line at which it waits now, after the step.
    """
    owner = getattr(callback, "__self__", None)
    if not isinstance(owner, asyncio.Task):
        return getattr(callback, "__qualname__", None) or repr(callback)[:_MAX_CHARS]
    names: list[str] = []
    inner: Any = owner.get_coro()
    while inner is not None and hasattr(inner, "cr_await") and len(names) < _MAX_DEPTH:
        line = "" if inner.cr_frame is None else f":{inner.cr_frame.f_lineno}"
        names.append(f"{inner.__qualname__}{line}")
        inner = inner.cr_await
    return f"{owner.get_name()}: {' > '.join(names)}{' (ended)' if owner.done() else ''}"


async def measure_lag(lag: Histogram) -> None:
    """Observe, ten times a second until cancelled, how late this task wakes up in seconds."""
    loop = asyncio.get_running_loop()
    while True:
        due_s = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        lag.observe(max(0.0, loop.time() - due_s))
