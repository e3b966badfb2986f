"""Measures once what a GPU can do at most: bytes per second, and how short a launch can be.

With our own kernels and memory, when no job runs; FLOPs are not measured: they come from a table of
the specified operations of multiprocessors. Imported in launchers only.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from cuda.bindings import driver as cu

from launch.checks.roofline import Ceilings
from worker.gpu.launcher.device import GpuDevice, check
from worker.gpu.launcher.launcher_context import LauncherContext
from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.timing import TimedWork
from worker.gpu.timing_integrity.ceilings_ptx import PTX
from worker.gpu.timing_integrity.peak_flops import peak_flops

_PIECE_BYTES = 16
_THREADS = 256
_TIMES_L2, _PART_OF_FREE = 16, 8
"""Buffer size to measure memory: 16 times the L2 cache, at most an eighth of free memory."""
_PART_OF_L2 = 4
_PASSES = 32
_TRIES = 8
_EMPTY_RUNS = 50
_THREADS_A_MULTIPROCESSOR = 2048


def measure_ceilings(context: LauncherContext) -> Ceilings:
    """Return the ceilings of a GPU, in some 20 ms; nothing else may run on it. Raises CudaError."""
    module = check(cu.cuModuleLoadData(PTX), "loading the kernels of ceilings")
    try:
        return _Measurement(context, module).ceilings()
    finally:
        check(cu.cuModuleUnload(module), "unloading the kernels of ceilings")


class _Measurement:
    """The kernels, and the memory that they run on while it lasts."""

    def __init__(self, context: LauncherContext, module: Any) -> None:
        self._context = context
        self._device: GpuDevice = context.device
        self._kernels = {
            name: check(cu.cuModuleGetFunction(module, name.encode()), f"finding {name}")
            for name in ("nothing", "read", "copy", "write")
        }
        self._events = [check(cu.cuEventCreate(0), "making an event") for _ in range(2)]

    def ceilings(self) -> Ceilings:
        device = self._device
        size = self._size_bytes()
        source = int(check(cu.cuMemAlloc(2 * size), "allocating memory"))
        try:
            moved = self._memory_rates(source, size)
            cached = self._cached_rate(source, min(size, device.l2_bytes // _PART_OF_L2))
        finally:
            check(cu.cuMemFree(source), "freeing memory")
            for event in self._events:
                check(cu.cuEventDestroy(event), "giving up an event")
        return Ceilings(
            memory_bytes_per_s=moved,
            l2_bytes_per_s=max(moved, cached),
            launch_us=self._launch_us(),
            l2_bytes=device.l2_bytes,
            flops_per_s=peak_flops(device.capability, device.multiprocessors, device.clock_hz),
        )

    def _size_bytes(self) -> int:
        """Return how much memory to measure on: a multiple of 4 KiB."""
        free: Any = check(cu.cuMemGetInfo(), "asking for free memory")
        wanted = min(_TIMES_L2 * self._device.l2_bytes, int(free[0]) // _PART_OF_FREE)
        return max(1, wanted >> 12) << 12

    def _memory_rates(self, source: int, size: int) -> float:
        """Return the best of reads, writes and copies, in bytes per second."""
        pieces = size // _PIECE_BYTES
        blocks = max(1, pieces // _THREADS)
        count, once = ctypes.c_uint64(pieces), (ctypes.c_uint32(pieces), ctypes.c_uint32(1))
        a, b = ctypes.c_uint64(source), ctypes.c_uint64(source + size)
        return max(
            size / self._best_s(lambda: self._launch("read", blocks, a, *once)),
            size / self._best_s(lambda: self._launch("write", blocks, b, count)),
            2 * size / self._best_s(lambda: self._launch("copy", blocks, a, count)),
        )

    def _cached_rate(self, source: int, size: int) -> float:
        """Return the rate of reads that the L2 cache answers, in bytes per second."""
        blocks = self._device.multiprocessors * _THREADS_A_MULTIPROCESSOR // _THREADS
        numbers = (
            ctypes.c_uint64(source),
            ctypes.c_uint32(size // _PIECE_BYTES),
            ctypes.c_uint32(_PASSES),
        )
        return _PASSES * size / self._best_s(lambda: self._launch("read", blocks, *numbers))

    def _launch(self, name: str, blocks: int, *numbers: Any) -> None:
        parameters = (ctypes.c_void_p * max(1, len(numbers)))(*map(ctypes.addressof, numbers))
        launched = cu.cuLaunchKernel(
            self._kernels[name], blocks, 1, 1, _THREADS, 1, 1, 0,
            self._device.stream, ctypes.addressof(parameters), 0,
        )  # fmt: skip
        check(launched, f"launching {name}")

    def _best_s(self, launch: Callable[[], None]) -> float:
        """Return the least time of some runs, in seconds, the time to launch one included."""
        start, end = self._events
        taken = []
        for _ in range(_TRIES):
            check(cu.cuEventRecord(start, self._device.stream), "recording an event")
            launch()
            check(cu.cuEventRecord(end, self._device.stream), "recording an event")
            check(cu.cuEventSynchronize(end), "waiting for a kernel")
            taken.append(float(check(cu.cuEventElapsedTime(start, end), "reading a time")))
        return max(min(taken), 1e-3) * 1e-3

    def _launch_us(self) -> float:
        """Return the least time of an empty kernel, as the stopwatch of jobs takes it."""
        work = TimedWork(lambda: self._launch("nothing", 1), lambda: None, 0)
        order = TimingOrder(min_repeats=_EMPTY_RUNS, max_ms=20.0, flush_l2=False)
        return float(self._context.stopwatch.time(work, order)["min_us"])
