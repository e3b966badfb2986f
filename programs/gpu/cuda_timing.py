"""Times a program's calls on a GPU: marks on a stream, CUDA graphs, the L2 cache, the clock.

A mark is a CUDA event. In a graph it is a separate node, so neither the host nor a graph launch
comes between two marks. Only program launchers import this.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import torch
from cuda.bindings import driver as cu

from programs.gpu.memory_ranges import MemoryRange, to_overwrite
from programs.gpu.timed_call import NotCapturable, octets_of
from worker.gpu.launcher.device import CudaError, GpuDevice, check
from worker.gpu.launcher.memory_checks import MemoryChecks
from worker.gpu.launcher.timing import Clocks
from worker.gpu.timing_integrity.register_clearing import RegisterClearing

_FLUSHED_BY_L2 = 2
"""The number of times to overwrite the L2 cache before each run, as for launches."""
_CYCLES_A_US = 2000
"""A rough maximum of a GPU's clock; a head start need not be exact."""
_MAX_SPARE_BYTES = 1 << 30
"""The free memory that torch may keep while a call is captured; freeing it is slow."""
_OVERHEAD_RUNS = 10
_POISON = 0xFF
"""NaN in every float, -1 in every integer."""


class CudaMarks:
    """Events along a call, on torch's current stream. Raises CudaError."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._used = 0

    def begin(self) -> None:
        """Forget the marks of the run before."""
        self._used = 0

    def mark(self) -> None:
        """Set the next mark after all work queued, or captured, so far."""
        if self._used == len(self._events):
            flags = int(cu.CUevent_flags.CU_EVENT_DEFAULT)
            self._events.append(check(cu.cuEventCreate(flags), "making an event"))
        kinds = cu.CUevent_record_flags
        capturing = torch.cuda.is_current_stream_capturing()
        kind = kinds.CU_EVENT_RECORD_EXTERNAL if capturing else kinds.CU_EVENT_RECORD_DEFAULT
        stream = torch.cuda.current_stream().cuda_stream
        recorded = cu.cuEventRecordWithFlags(self._events[self._used], stream, int(kind))
        check(recorded, "recording an event")
        self._used += 1

    def intervals_us(self) -> list[float]:
        """Wait for the last mark, and return the times between marks."""
        events = self._events[: self._used]
        check(cu.cuEventSynchronize(events[-1]), "waiting for the timed run")
        return [
            1000 * float(check(cu.cuEventElapsedTime(event, other), "reading a time"))
            for event, other in pairwise(events)
        ]

    def close(self) -> None:
        """Destroy the events."""
        for event in self._events:
            cu.cuEventDestroy(event)
        self._events, self._used = [], 0


def _end_capture(pool: Any) -> None:
    """End a failed capture in torch's allocator and generator, which torch leaves capturing.

    Otherwise torch would refuse all random numbers in this process from then on.
    """
    device = torch.cuda.current_device()
    with suppress(RuntimeError):  # if torch did end it
        torch._C._cuda_endAllocateToPool(device, pool)
    fresh = torch.Generator(device="cuda").graphsafe_get_state()
    torch.cuda.default_generators[device].graphsafe_set_state(fresh)


class _Overwritten:
    """The memory to overwrite before runs.

    Asking torch for it takes 0.2 ms, so this asks again only after memory was allocated or freed.
    """

    def __init__(self) -> None:
        self._known: tuple[tuple[int, ...], Sequence[MemoryRange]] = ((), ())
        self._ranges: list[MemoryRange] = []

    def ranges(self, made: Sequence[MemoryRange]) -> list[MemoryRange]:
        """Return the current ranges, with the memory `made` by runs."""
        now = (_allocator_steps(), tuple(made))
        if now != self._known:
            self._ranges = to_overwrite(torch.cuda.memory_snapshot(), made)
            self._known = now
        return self._ranges


def _allocator_steps() -> tuple[int, ...]:
    """Return the numbers of torch's allocations and frees, of tensors and of segments."""
    stats = torch.cuda.memory_stats_as_nested_dict()
    counts = [stats[kind]["all"] for kind in ("allocation", "active", "segment")]
    return tuple([count[way] for count in counts for way in ("allocated", "freed")])


class CudaTiming:
    """Times programs on the GPU of this process, one after the other."""

    def __init__(self, device: GpuDevice, clocks: Clocks) -> None:
        """Allocate the memory that overwrites the L2 cache. Raises CudaError."""
        self._stream = torch.cuda.ExternalStream(int(device.stream))
        self._clocks = clocks
        self._checks = MemoryChecks(device)
        self._registers = RegisterClearing(device)
        self._pool: Any = None
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._marks: list[CudaMarks] = []
        self._overwritten = _Overwritten()
        self._overheads_us: dict[tuple[bool, bool], float] = {}
        """Overheads by `is_graph` and `flush_l2`."""
        size_bytes = _FLUSHED_BY_L2 * device.l2_bytes
        self._flushed = torch.zeros(size_bytes, dtype=torch.uint8, device="cuda")

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Queue everything in the block on a separate stream, after all work queued before.

        Raises CudaError for a fault, instead of torch's error.
        """
        torch.cuda.synchronize()
        try:
            with torch.cuda.stream(self._stream):
                yield
        except RuntimeError:
            check(cu.cuCtxSynchronize(), "timing a program")
            raise
        check(cu.cuCtxSynchronize(), "timing a program")

    def marks(self) -> CudaMarks:
        """Return marks for one call."""
        self._marks.append(CudaMarks())
        return self._marks[-1]

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        """Capture `run` as one graph; return a function that queues it. Raises NotCapturable."""
        graph = torch.cuda.CUDAGraph()
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > _MAX_SPARE_BYTES:
            torch.cuda.empty_cache()  # a graph allocates its own memory
        torch.cuda.synchronize()
        try:
            with torch.cuda.stream(self._stream):
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    run()
                finally:
                    graph.capture_end()
        except (RuntimeError, CudaError) as error:
            _end_capture(self._pool)
            self._pool = None
            raise NotCapturable(str(error)) from error
        self._graphs.append(graph)
        replay: Callable[[], None] = graph.replay
        return replay

    @contextmanager
    def no_waiting(self) -> Iterator[None]:
        """Have torch raise RuntimeError if an op waits for the GPU, as no graph can capture it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch does not detect all waits, but captures do
            torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def head_start(self, duration_us: float, *, flush_l2: bool) -> None:
        """Keep the GPU busy for so long, so that the host is ahead; then overwrite the L2 cache."""
        torch.cuda._sleep(int(duration_us * _CYCLES_A_US))
        if flush_l2:
            self._flushed.zero_()

    def overwrite(self, made: Sequence[MemoryRange]) -> None:
        """Fill memory with poison, in stream order; see `to_overwrite`.

        Raises CudaError.
        """
        stream = torch.cuda.current_stream().cuda_stream
        for part in self._overwritten.ranges(made):
            filled = cu.cuMemsetD8Async(part.address, _POISON, part.size_bytes, stream)
            check(filled, "overwriting memory")

    def digests(self, outputs: Sequence[torch.Tensor]) -> list[int]:
        """Return a digest of each tensor's elements, in C order; see `MemoryChecks.digest_of`.

        It runs after all work queued so far, and leaves no trace of the key for later kernels.
        Raises CudaError.
        """
        plain = [octets_of(output) for output in outputs]
        asked = [self._checks.digest_of(octets.data_ptr(), octets.numel()) for octets in plain]
        digests = self._checks.ask(asked)
        self._registers.clear()
        return digests

    def overhead_us(self, *, is_graph: bool, flush_l2: bool) -> float:
        """Return the shortest measured time of filling one element; measured once.

        Raises CudaError, NotCapturable.
        """
        known = self._overheads_us.get((is_graph, flush_l2))
        if known is None:
            known = self._measured_overhead_us(is_graph=is_graph, flush_l2=flush_l2)
            self._overheads_us[is_graph, flush_l2] = known
        return known

    def _measured_overhead_us(self, *, is_graph: bool, flush_l2: bool) -> float:
        number = torch.empty(1, device="cuda")
        marks = self.marks()

        def run() -> None:
            marks.begin()
            marks.mark()
            number.fill_(1.0)
            marks.mark()

        queue = self.capture(run) if is_graph else run
        intervals_us = []
        for _ in range(_OVERHEAD_RUNS):
            self.head_start(0.0, flush_l2=flush_l2)
            queue()
            intervals_us += marks.intervals_us()
        return min(intervals_us)

    def mhz(self) -> int | None:
        """Return the current clock of the multiprocessors."""
        return self._clocks.mhz()

    def reasons(self) -> set[str]:
        """Return the reasons why the clock is below its maximum."""
        return self._clocks.reasons()

    def close(self) -> None:
        """Free graphs and marks, unless a fault has ended the context."""
        with suppress(RuntimeError):
            torch.cuda.synchronize()
            for graph in self._graphs:
                graph.reset()
            for marks in self._marks:
                marks.close()
        self._graphs, self._marks, self._pool = [], [], None
