"""Replaces measured times in a recording by opaque values.

A program may print a time, as programs that time themselves do. One that branches on it is refused.
"""

import time
from collections.abc import Callable
from typing import Any

import triton

from programs.recorder.recording import current
from programs.recorder.torch_patches.opaque_scalar import OpaqueValue

_CLOCK = "clock"


def install() -> None:
    """Replace `time.sleep` and Triton's benchmarks."""
    module: Any = time
    module.sleep = _asleep
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, _measuring(f"triton.testing.{name}"))


def opaque_time(how: str) -> OpaqueValue:
    """Return an opaque time, measured by `how`."""
    return OpaqueValue(how, _CLOCK)


def _asleep(_: Any) -> None: ...


def _measuring(how: str) -> Callable[..., Any]:
    """Return a benchmark that calls a function once and returns opaque times."""

    def measure(function: Any, *_: Any, quantiles: Any = None, **__: Any) -> Any:
        function()
        recording = current()
        if recording is not None:
            recording.tape.copies.wait()
        if quantiles is None or len(quantiles) == 1:
            return opaque_time(how)
        return [opaque_time(how) for _ in quantiles]

    return measure
