"""A simple evaluator of kernels, like popular harnesses, to show which cheats it believes.

It allocates with torch.empty, compares one run by allclose, and times others on the same buffers.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

FLUSHED_BYTES = 256 << 20


def evaluate(
    run: Callable[..., None],
    reference: Callable[..., torch.Tensor],
    inputs: dict[str, Any],
    *,
    reference_first: bool,
    repeats: int,
) -> tuple[bool, float]:
    """Return whether a candidate passed, and its median time in microseconds."""
    right = reference(**inputs)
    shape, dtype, device = right.shape, right.dtype, right.device
    del right
    time_us(lambda: reference(**inputs), device, repeats)  # the baseline of the speed-up
    expected = reference(**inputs) if reference_first else None
    actual = torch.empty(shape, dtype=dtype, device=device)
    run(**inputs, output_ptr=actual)
    if expected is None:
        expected = reference(**inputs)
    passed = torch.allclose(actual, expected, rtol=1e-2, atol=1e-2, equal_nan=True)
    return passed, time_us(lambda: run(**inputs, output_ptr=actual), device, repeats)


def time_us(work: Callable[[], Any], device: torch.device, repeats: int) -> float:
    """Return the median time of `work`; it overwrites a GPU's L2 cache before each run."""
    if device.type == "cpu":
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times)
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8, device=device)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
    for start, end in events:
        flushed.zero_()
        start.record()
        work()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) * 1000 for start, end in events)
