"""Times a kernel with CUDA events, and reads the GPU's clock, which it never sets.

Work is queued behind a closed gate, a word in host memory that the stream waits for, so that the
time to launch is never measured; before every run the L2 cache is overwritten and what the kernel
writes is restored, outside of the measured interval. Imported in launchers only.
"""

import ctypes
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cuda.bindings import driver as cu
from cuda.bindings import nvml

from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.statistics import ENOUGH_RELATIVE_ERROR, relative_error, summarise

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


_MOST_QUEUED = 256
"""Operations behind a closed gate: far fewer than a stream takes before launching blocks."""
_MOST_IN_A_BATCH = 50
_MOST_SAMPLES = 10_000
_FEWEST_SAMPLES = 3
_FIRST_BATCH = 5


@dataclass(frozen=True, slots=True)
class Work:
    """What is timed: `launch`, each time after `restore`, which queues `operations`."""

    launch: Callable[[], None]
    restore: Callable[[], None]
    operations: int


@dataclass(slots=True)
class _Taken:
    samples_us: list[float] = field(default_factory=list)
    throttled: set[str] = field(default_factory=set)
    clock_mhz: int | None = None


class Stopwatch:
    """The events, the gate and the memory that flushes the L2 cache; used for many jobs."""

    def __init__(self, device: GpuDevice, clocks: Clocks) -> None:
        self._device = device
        self._stream = device.stream
        self._clocks = clocks
        self._events = [(_event(), _event()) for _ in range(_MOST_IN_A_BATCH)]
        self._gate = _Gate(device.stream)
        self._flush_bytes = 2 * device.l2_bytes // 4 * 4
        self._flushed: int | None = None

    def time(self, work: Work, order: TimingOrder) -> dict[str, Any]:
        """Return the `timing` of an answer. Raises CudaError.

        Repeats until the mean is known well or `max_ms` is over, but never fewer than three times.
        """
        self._batch(work, order, min(1, order.warmup_repeats))
        per_repeat_ms = self._warm_up(work, order)
        taken = _Taken()
        started = time.monotonic()
        while (count := _next_count(taken.samples_us, order, started, per_repeat_ms)) > 0:
            taken.samples_us += self._batch(work, order, count)
            taken.throttled |= self._clocks.reasons()
            taken.clock_mhz = self._clocks.mhz()
        return {
            **summarise(taken.samples_us).to_dict(),
            "clock_mhz": taken.clock_mhz,
            "throttled": sorted(taken.throttled),
            "samples_us": [round(one, 3) for one in taken.samples_us] if order.samples else None,
        }

    def _warm_up(self, work: Work, order: TimingOrder) -> float:
        """Run untimed; return the milliseconds that one repeat takes, all around it included."""
        left, budget_ms = order.warmup_repeats - 1, order.max_ms / 4
        started = time.monotonic()
        done = 0
        while done < max(1, left):
            count = min(_FIRST_BATCH, max(1, left) - done)
            self._batch(work, order, count)
            done += count
            if _spent_ms(started) > budget_ms:
                break
        return _spent_ms(started) / done

    def _batch(self, work: Work, order: TimingOrder, count: int) -> list[float]:
        """Return the times of `count` runs in microseconds."""
        operations = work.operations + 4
        count = min(count, _MOST_IN_A_BATCH, max(1, _MOST_QUEUED // operations))
        gated = count * operations <= _MOST_QUEUED
        if gated:
            self._gate.close()
        try:
            for start, end in self._events[:count]:
                work.restore()
                if order.flush_l2:
                    self._flush()
                check(cu.cuEventRecord(start, self._stream), "recording an event")
                work.launch()
                check(cu.cuEventRecord(end, self._stream), "recording an event")
        finally:
            self._gate.open()
        check(cu.cuStreamSynchronize(self._stream), "waiting for the timed runs")
        return [
            float(check(cu.cuEventElapsedTime(start, end), "reading a time")) * 1000
            for start, end in self._events[:count]
        ]

    def _flush(self) -> None:
        if self._flushed is None:
            made = check(cu.cuMemAlloc(self._flush_bytes), "allocating to flush the L2 cache")
            self._flushed = int(made)
        result = cu.cuMemsetD32Async(self._flushed, 0, self._flush_bytes // 4, self._stream)
        check(result, "flushing the L2 cache")


class _Gate:
    """A word in host memory; while it is closed, the stream does not go on."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        flags = cu.CU_MEMHOSTALLOC_DEVICEMAP
        host = int(check(cu.cuMemHostAlloc(4, flags), "allocating host memory"))
        self._address = check(cu.cuMemHostGetDevicePointer(host, 0), "mapping host memory")
        self._word = ctypes.c_uint32.from_address(host)
        self._word.value = 1

    def close(self) -> None:
        """Hold all work that is queued from now on."""
        self._word.value = 0
        flag = int(cu.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_EQ)
        check(cu.cuStreamWaitValue32(self._stream, self._address, 1, flag), "closing the gate")

    def open(self) -> None:
        """Let the work go on."""
        self._word.value = 1


def _event() -> Any:
    return check(cu.cuEventCreate(int(cu.CUevent_flags.CU_EVENT_DEFAULT)), "making an event")


def _spent_ms(started: float) -> float:
    return (time.monotonic() - started) * 1000


def _next_count(
    samples_us: list[float], order: TimingOrder, started: float, per_repeat_ms: float
) -> int:
    """Return how many runs to time next; 0 when it is enough."""
    have = len(samples_us)
    if have >= _MOST_SAMPLES:
        return 0
    left_ms = order.max_ms - _spent_ms(started)
    if left_ms <= 0:
        return max(0, _FEWEST_SAMPLES - have)
    if have >= order.min_repeats and relative_error(samples_us) <= ENOUGH_RELATIVE_ERROR:
        return 0
    affordable = max(1, int(left_ms / max(per_repeat_ms, 0.001)))
    return min(affordable, _MOST_IN_A_BATCH, max(order.min_repeats - have, _FIRST_BATCH))
