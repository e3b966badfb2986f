"""Times in a recording: there are none, so what measures one gets a number that nobody may look at.

It can be printed, as programs that time themselves do; whoever decides by it is refused.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import triton

from programs.recorder.recording import current
from programs.recorder.torch_patches.opaque_scalar import UnreadValue

_CLOCK = "clock"


def install() -> None:
    """Let no program wait, nor measure how long a call takes."""
    module: Any = time
    module.sleep = _asleep
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, _measuring(f"triton.testing.{name}"))


def unread_time(how: str) -> UnreadValue:
    """Return a time that was not measured."""
    return UnreadValue(how, _CLOCK)


def _asleep(_: Any) -> None: ...


def _measuring(how: str) -> Callable[..., Any]:
    """Return what calls a function once, as often as is recorded, and says nothing of its time."""

    def measure(function: Any, *_: Any, quantiles: Any = None, **__: Any) -> Any:
        function()
        recording = current()
        if recording is not None:
            recording.tape.streams.wait_for_all()
        if quantiles is None or len(quantiles) == 1:
            return unread_time(how)
        return [unread_time(how) for _ in quantiles]

    return measure
