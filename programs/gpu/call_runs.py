"""A call made ready to be timed again and again: as one graph, or op by op.

Whatever a run could find of the runs before it is put back or overwritten first, outside of its
time. Knows torch, and no CUDA.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import torch

from programs.gpu.memory_ranges import MemoryRange
from programs.gpu.timed_call import GpuTimedCall
from programs.replay.random_generators import seed_torch

Method = Literal["graph", "events"]
_LEAST_HEAD_START_US = 20.0
_MOST_HEAD_START_US = 100_000.0
_HEAD_START_RATIO = 1.5
"""Of what the host takes to queue a run."""


class Marks(Protocol):
    """Places along a run between which a device tells times."""

    def begin(self) -> None:
        """Forget the marks of the run before."""
        ...

    def mark(self) -> None:
        """Set the next mark."""
        ...

    def intervals_us(self) -> list[float]:
        """Return the times between marks, after the last of them was passed."""
        ...

    def close(self) -> None:
        """Give what they take back."""
        ...


class TimingDevice(Protocol):
    """What calls are timed on: `cuda_timing.CudaTiming`."""

    def stream(self) -> AbstractContextManager[None]:
        """Queue everything in an order of its own, behind what was queued before."""
        ...

    def marks(self) -> Marks:
        """Return marks for one call."""
        ...

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """Return what queues all that `run` queues. Raises NotCapturable."""
        ...

    def no_waiting(self) -> AbstractContextManager[None]:
        """Have torch raise RuntimeError where an op waits for the device."""
        ...

    def head_start(self, duration_us: float, *, flush_l2: bool) -> None:
        """Keep the device busy for so long, then overwrite its L2 cache."""
        ...

    def overwrite(self, made: Sequence[MemoryRange]) -> None:
        """Fill memory with poison: what runs made, and all that no tensor lies in."""
        ...

    def digests(self, outputs: Sequence[torch.Tensor]) -> Sequence[int]:
        """Return a number for the elements of each, after all work queued so far."""
        ...

    def overhead_us(self, *, is_graph: bool, flush_l2: bool) -> float:
        """Return the least that is told of a call that does next to nothing."""
        ...

    def mhz(self) -> int | None:
        """Return the clock now."""
        ...

    def reasons(self) -> set[str]:
        """Return why the clock is below what it could be now."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class CallRuns:
    """Runs of one call on one device, each on the same inputs and the same random numbers."""

    def __init__(
        self,
        call: GpuTimedCall,
        device: TimingDevice,
        seed: int,
        *,
        made: list[MemoryRange],
        is_graph: bool,
        each_op: bool = False,
    ) -> None:
        """Capture the call, if it is to be a graph. Raises NotCapturable.

        `made` is where all graphs of a program make what they make; this one's is added. `each_op`:
        time every op that gives the device something to do, and not the whole.
        """
        self._call, self._device, self._seed, self._each_op = call, device, seed, each_op
        self._marks = device.marks()
        self._host_us: float | None = None
        """The least that the host took to queue a run: an op may wait for the head start, too."""
        self._replay: Callable[[], None] | None = None
        self._outputs: list[torch.Tensor] = []
        self._made = made
        if is_graph:
            self._seed_numbers()
            self._replay = device.capture(self._queue)
            self._outputs = call.outputs()
            made += call.made
            call.release()

    @property
    def number(self) -> int:
        """Which call it is: 0 or 1."""
        return self._call.call

    def time_us(self, *, flush_l2: bool) -> list[float]:
        """Run it once; return the time of the whole, or of each op, in the order of the ops."""
        self._make_ready()
        start_us = min((self._host_us or 0.0) * _HEAD_START_RATIO, _MOST_HEAD_START_US)
        self._device.head_start(max(start_us, _LEAST_HEAD_START_US), flush_l2=flush_l2)
        began = time.perf_counter()
        (self._replay or self._queue)()
        host_us = (time.perf_counter() - began) * 1e6
        self._host_us = host_us if self._host_us is None else min(host_us, self._host_us)
        return self._marks.intervals_us()

    def outputs(self) -> list[torch.Tensor]:
        """Return what the last run returned; valid until the next."""
        return self._call.outputs() if self._replay is None else self._outputs

    def _make_ready(self) -> None:
        if self._replay is None:
            self._call.release()
        self._device.overwrite(self._made)
        self._call.restore()
        self._seed_numbers()

    def _seed_numbers(self) -> None:
        seed_torch(self._seed + self._call.call, self._call.device)

    def _queue(self) -> None:
        self._marks.begin()
        self._marks.mark()
        if self._each_op:
            self._call.run(after=lambda _: self._marks.mark())
        else:
            self._call.run()
            self._marks.mark()
