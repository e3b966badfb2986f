"""Prepares a call for repeated timing: as one CUDA graph, or op by op.

Before each run, and outside of its time, everything that earlier runs left is restored or
overwritten. This uses torch, but no CUDA API.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from programs.gpu.fresh_inputs import FreshInputs
from programs.gpu.memory_ranges import MemoryRange
from programs.gpu.timed_call import GpuTimedCall
from programs.replay.program_run import seed_torch

if TYPE_CHECKING:  # tests time calls without CUDA
    from programs.gpu.cuda_timing import CudaTiming

_MIN_HEAD_START_US = 20.0
_MAX_HEAD_START_US = 100_000.0
_HEAD_START_RATIO = 1.5
"""The head start, as a ratio of the host's time to queue a run."""


class CallRuns:
    """The runs of one call on one device; equal seeds give equal inputs and random numbers."""

    def __init__(
        self,
        call: GpuTimedCall,
        device: CudaTiming,
        seed: int,
        *,
        made: list[MemoryRange],
        is_graph: bool,
        each_op: bool = False,
        fresh: FreshInputs | None = None,
    ) -> None:
        """Capture the call if it is to be a graph. Raises NotCapturable.

        `made` has the memory that a program's graphs allocate; this one's is added. With `each_op`,
        time every op that queues work, not the whole call. `fresh` draws other inputs.
        """
        self._call, self._device, self._seed, self._each_op = call, device, seed, each_op
        self._fresh, self._marks = fresh, device.marks()
        self._host_us: float | None = None
        """The host's shortest time to queue a run. An op may wait for the head start, too."""
        self._replay: Callable[[], None] | None = None
        self._outputs: list[torch.Tensor] = []
        self._made = made
        if is_graph:
            self._seed_numbers(seed)
            self._replay = device.capture(self._queue)
            self._outputs = call.outputs()
            made += call.made
            call.release()

    @property
    def number(self) -> int:
        """The number of the call: 0 or 1."""
        return self._call.call

    def time_us(self, *, flush_l2: bool, seed: int | None = None) -> list[float]:
        """Run the call once; return its time, or with `each_op` the time of each op, in order.

        The inputs and random numbers are those of `seed`; None: those of the checked calls.
        """
        self._make_ready(seed)
        start_us = min((self._host_us or 0.0) * _HEAD_START_RATIO, _MAX_HEAD_START_US)
        self._device.head_start(max(start_us, _MIN_HEAD_START_US), flush_l2=flush_l2)
        began = time.perf_counter()
        (self._replay or self._queue)()
        host_us = (time.perf_counter() - began) * 1e6
        self._host_us = host_us if self._host_us is None else min(host_us, self._host_us)
        return self._marks.intervals_us()

    def outputs(self) -> list[torch.Tensor]:
        """Return the outputs of the last run, which are valid until the next."""
        return self._call.outputs() if self._replay is None else self._outputs

    def release(self) -> None:
        """Free what a run without a graph made. A graph's memory is overwritten before each run."""
        if self._replay is None:
            self._call.release()

    def _make_ready(self, seed: int | None) -> None:
        self.release()
        self._call.restore()
        if seed is not None and self._fresh is not None:
            self._fresh.draw(self._call.call, seed)
        self._device.overwrite(self._made)
        self._seed_numbers(self._seed if seed is None else seed)

    def _seed_numbers(self, seed: int) -> None:
        seed_torch(seed + self._call.call, self._call.device)

    def _queue(self) -> None:
        self._marks.begin()
        self._marks.mark()
        if self._each_op:
            self._call.run(after=lambda _: self._marks.mark())
        else:
            self._call.run()
            self._marks.mark()
