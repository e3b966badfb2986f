"""Times a kernel with CUDA events, and reads the GPU's clock, which it never sets.

A batch of runs is queued behind a closed gate, a word in host memory that the stream waits for, so
that the time to launch is never measured; the next batch is queued behind its own gate while
this one runs. Before every run the L2 cache is overwritten and what the kernel writes is restored,
outside of the measured interval. Imported in launchers only.
"""

import ctypes
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cuda.bindings import driver as cu
from cuda.bindings import nvml

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.guarded_memory import GuardedMemory
from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.statistics import summarise
from worker.gpu.launcher.timing_plan import Plan

_REASONS = {
    0x04: "sw_power_cap",
    0x08: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
_SM_CLOCK = 1


class Clocks:
    """Reads of one GPU; every answer is None, or empty, where NVML does not work."""

    def __init__(self, uuid: str) -> None:
        self._handle: Any = None
        self.driver: str | None = None
        with _without_nvml():
            nvml.init_v2()
            self.driver = str(nvml.system_get_driver_version())
            self._handle = nvml.device_get_handle_by_uuid(uuid)

    def mhz(self) -> int | None:
        """Return the clock of the multiprocessors now."""
        with _without_nvml():
            if self._handle is not None:
                return int(nvml.device_get_clock_info(self._handle, _SM_CLOCK))
        return None

    def reasons(self) -> set[str]:
        """Return why the clock is below what it could be now."""
        with _without_nvml():
            if self._handle is not None:
                bits = int(nvml.device_get_current_clocks_event_reasons(self._handle))
                return {name for bit, name in _REASONS.items() if bits & bit}
        return set()


@contextmanager
def _without_nvml() -> Iterator[None]:
    """Go on where there is no NVML or it refuses: containers often lack it, kernels run without."""
    try:
        yield
    except (nvml.NvmlError, RuntimeError, OSError):
        return


_MAX_QUEUED = 256
"""Operations behind a closed gate: far fewer than a stream takes before launching blocks."""
_MAX_IN_A_BATCH = 16
"""Queuing these takes less time than they run, so that the next batch is there in time."""
_MAX_IN_FIRST_BATCH = 4
"""The GPU waits until it is queued, and only for it: later ones are queued while it runs."""
_LOOK_S = 0.01
"""Between looks at the clocks, each of which takes a tenth of a millisecond."""
_MAX_BATCHES = 2
"""Queued at a time: one that runs, and the next."""


@dataclass(frozen=True, slots=True)
class TimedWork:
    """The timed work: `launch` after `restore`, which queues `operations` together with `inspect`.

    `inspect` is queued after each run, outside its time. With `ready`, each batch ends before the
    next begins: `ready` gets a number of runs and returns how many may run (at first at least one;
    0 ends the timing), and `done` gets the number that ran. Their time does not count against the
    budget.
    """

    launch: Callable[[], None]
    restore: Callable[[], None]
    operations: int
    inspect: Callable[[], None] | None = None
    ready: Callable[[int], int] | None = None
    done: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True)
class _Batch:
    """Runs that are queued, each between two events; those that are not timed warm up."""

    events: list[tuple[Any, Any]]
    is_timed: bool


@dataclass(slots=True)
class _Seen:
    """The readings of the clocks during the runs."""

    throttled: set[str] = field(default_factory=set)
    clock_mhz: int | None = None
    look_s: float = 0.0
    """When to ask them again."""


class Stopwatch:
    """The events, the gate and the memory that flushes the L2 cache; used for many jobs."""

    def __init__(
        self,
        device: GpuDevice,
        memory: GuardedMemory,
        clocks: Clocks,
        clear_registers: Callable[[], None],
    ) -> None:
        """`clear_registers` queues the small kernel that each run has right before it."""
        self._memory = memory
        self._clear_registers = clear_registers
        self._stream = device.stream
        self._clocks = clocks
        self._gate = _Gate(device.stream)
        self._events = [
            [(_event(), _event()) for _ in range(_MAX_IN_A_BATCH)] for _ in range(_MAX_BATCHES)
        ]
        self._turn = 0
        self._flush_bytes = 2 * device.l2_bytes // 4 * 4
        self._flushed = 0

    def time(self, work: TimedWork, order: TimingOrder) -> dict[str, Any]:
        """Return the `timing` of an answer. Raises CudaError.

        Repeats until the median is known well or `max_ms` is over, but never fewer than three
        times.
        """
        if order.flush_l2 and not self._flushed:
            self._flushed = self._memory.map(self._flush_bytes).start
        seen = _Seen()
        plan = Plan(order)
        self._finish(self._queue(work, order, 1, is_timed=False), work, plan, seen)
        plan.begin(most=max(1, min(_MAX_IN_A_BATCH, _MAX_QUEUED // _operations(work))))
        self._time_all(work, plan, seen)
        return {
            **summarise(plan.samples_us, order.min_repeats).to_dict(),
            "clock_mhz": seen.clock_mhz,
            "throttled": sorted(seen.throttled),
            "samples_us": [round(sample, 3) for sample in plan.samples_us]
            if order.samples
            else None,
        }

    def _time_all(self, work: TimedWork, plan: Plan, seen: _Seen) -> None:
        under_way: deque[_Batch] = deque()
        most_batches = _MAX_BATCHES if work.ready is None else 1
        sizes = _batch_sizes(work)
        while (count := plan.next_count()) > 0 or under_way:
            if count > 0 and len(under_way) < most_batches:
                most = count if plan.is_warming_up else next(sizes)
                batch = self._next(work, plan, min(count, most))
                if batch is None:
                    break
                under_way.append(batch)
            else:
                self._finish(under_way.popleft(), work, plan, seen)

    def _next(self, work: TimedWork, plan: Plan, count: int) -> _Batch | None:
        """Queue the next batch; None where no more runs can be made ready."""
        is_timed = not plan.is_warming_up
        if is_timed and work.ready is not None:
            with plan.paused():
                count = work.ready(count)
            if not count:
                return None
        plan.queue(count)
        return self._queue(work, plan.order, count, is_timed=is_timed)

    def _queue(self, work: TimedWork, order: TimingOrder, count: int, *, is_timed: bool) -> _Batch:
        """Queue `count` runs; timed ones are all queued before the first may begin."""
        self._turn = (self._turn + 1) % _MAX_BATCHES
        batch = _Batch(self._events[self._turn][:count], is_timed)
        record, stream, recording = cu.cuEventRecord, self._stream, "recording an event"
        gated = is_timed and count * _operations(work) <= _MAX_QUEUED
        if gated:
            self._gate.close()
        try:
            for start, end in batch.events:
                work.restore()
                if order.flush_l2:
                    self._flush()
                self._clear_registers()
                check(record(start, stream), recording)
                work.launch()
                check(record(end, stream), recording)
                if work.inspect is not None:
                    work.inspect()
        finally:
            if gated:
                self._gate.open()
        return batch

    def _finish(self, batch: _Batch, work: TimedWork, plan: Plan, seen: _Seen) -> None:
        """Wait for a batch, and note its times."""
        if batch.is_timed and (now := time.monotonic()) >= seen.look_s:
            seen.look_s = now + _LOOK_S
            seen.throttled |= self._clocks.reasons()
            seen.clock_mhz = self._clocks.mhz()
        (first, _), (_, last) = batch.events[0], batch.events[-1]
        check(cu.cuEventSynchronize(last), "waiting for the timed runs")
        if not batch.is_timed:
            plan.warmed_up(len(batch.events), _elapsed_ms(first, last))
            return
        times_us = [_elapsed_ms(start, end) * 1000 for start, end in batch.events]
        plan.timed(times_us, _elapsed_ms(first, last))
        if work.ready is not None and work.done is not None:
            check(cu.cuStreamSynchronize(self._stream), "waiting for the timed runs")
            with plan.paused():
                work.done(len(batch.events))

    def _flush(self) -> None:
        result = cu.cuMemsetD32Async(self._flushed, 0, self._flush_bytes // 4, self._stream)
        check(result, "flushing the L2 cache")


def _batch_sizes(work: TimedWork) -> Iterator[int]:
    """Yield how many timed runs to queue at once; all there is room for where each is awaited."""
    size = _MAX_IN_FIRST_BATCH if work.ready is None else _MAX_IN_A_BATCH
    while True:
        yield size
        size = min(2 * size, _MAX_IN_A_BATCH)


def _operations(work: TimedWork) -> int:
    """Return how much of a stream's queue one repeat takes."""
    return work.operations + 5


def _elapsed_ms(start: Any, end: Any) -> float:
    return float(check(cu.cuEventElapsedTime(start, end), "reading a time"))


class _Gate:
    """A number in host memory: the stream does not go on before it is as large as it waits for."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        flags = cu.CU_MEMHOSTALLOC_DEVICEMAP
        host = int(check(cu.cuMemHostAlloc(4, flags), "allocating host memory"))
        self._address = check(cu.cuMemHostGetDevicePointer(host, 0), "mapping host memory")
        self._word = ctypes.c_uint32.from_address(host)
        self._word.value = 0

    def close(self) -> None:
        """Hold all work that is queued from now on."""
        flag = int(cu.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_GEQ)
        result = cu.cuStreamWaitValue32(self._stream, self._address, self._next, flag)
        check(result, "closing the gate")

    def open(self) -> None:
        """Let the work go on."""
        self._word.value = self._next

    @property
    def _next(self) -> int:
        return (self._word.value + 1) % (1 << 32)


def _event() -> Any:
    return check(cu.cuEventCreate(int(cu.CUevent_flags.CU_EVENT_DEFAULT)), "making an event")
