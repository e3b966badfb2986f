"""What times a program's calls on a GPU: marks on a stream, CUDA graphs, the L2 cache, the clock.

A mark is a CUDA event. In a graph it is a node of its own, so no host and no start of a graph lies
between two of them. Imported in program launchers only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any

import torch
from cuda.bindings import driver as cu

from programs.gpu.iteration_outputs import octets_of
from programs.gpu.memory_ranges import MemoryRange, to_overwrite
from programs.gpu.timed_call import NotCapturable
from worker.gpu.launcher.device import CudaError, GpuDevice, check
from worker.gpu.launcher.memory_checks import MemoryChecks
from worker.gpu.launcher.timing import Clocks
from worker.gpu.timing_integrity.register_clearing import RegisterClearing

_FLUSHED_BY_L2 = 2
"""How many times the L2 cache is overwritten before each run, as before runs of one kernel."""
_CYCLES_A_US = 2000
"""Of a GPU's clock at most, roughly: a head start need not be exact."""
_MOST_SPARE_BYTES = 1 << 30
"""That torch has for tensors to come while a call is captured; giving it back takes long."""
_OVERHEAD_RUNS = 10
_POISON = 0xFF
"""NaN in every float, -1 in every integer."""


class CudaMarks:
    """Events along a call, on the stream that is torch's current one. Raises CudaError."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._used = 0

    def begin(self) -> None:
        """Forget the marks of the run before."""
        self._used = 0

    def mark(self) -> None:
        """Set the next mark behind what is queued, or captured, so far."""
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
        """Return the times between marks, after the last of them was passed."""
        events = self._events[: self._used]
        check(cu.cuEventSynchronize(events[-1]), "waiting for the timed run")
        return [
            1000 * float(check(cu.cuEventElapsedTime(one, other), "reading a time"))
            for one, other in pairwise(events)
        ]

    def close(self) -> None:
        """Give the events back."""
        for event in self._events:
            cu.cuEventDestroy(event)
        self._events, self._used = [], 0


def _end_capture(pool: Any) -> None:
    """Do what torch leaves undone where a capture fails: it goes on for its memory and generator.

    All random numbers of the process would else be refused from then on.
    """
    device = torch.cuda.current_device()
    with suppress(RuntimeError):  # where torch did end it
        torch._C._cuda_endAllocateToPool(device, pool)
    fresh = torch.Generator(device="cuda").graphsafe_get_state()
    torch.cuda.default_generators[device].graphsafe_set_state(fresh)


class _Overwritten:
    """The memory that is overwritten before runs.

    To ask torch for it takes a fifth of a millisecond, so it is asked again only where anything was
    taken or given back since.
    """

    def __init__(self) -> None:
        self._known: tuple[tuple[int, ...], Sequence[MemoryRange]] = ((), ())
        self._ranges: list[MemoryRange] = []

    def ranges(self, made: Sequence[MemoryRange]) -> list[MemoryRange]:
        """Return it as it is now; `made` by runs is part of it."""
        now = (_allocator_steps(), tuple(made))
        if now != self._known:
            self._ranges = to_overwrite(torch.cuda.memory_snapshot(), made)
            self._known = now
        return self._ranges


def _allocator_steps() -> tuple[int, ...]:
    """Return how often torch took memory, and gave some back: of tensors, and of the driver."""
    stats = torch.cuda.memory_stats_as_nested_dict()
    counts = [stats[kind]["all"] for kind in ("allocation", "active", "segment")]
    return tuple([one[way] for one in counts for way in ("allocated", "freed")])


class CudaTiming:
    """The GPU of this process, as `program_timing` sees it, for one program after the other."""

    def __init__(self, device: GpuDevice, clocks: Clocks) -> None:
        """Take memory to overwrite the L2 cache with. Raises CudaError."""
        self._stream = torch.cuda.ExternalStream(int(device.stream))
        self._clocks = clocks
        self._checks = MemoryChecks(device)
        self._registers = RegisterClearing(device)
        self._pool: Any = None
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._marks: list[CudaMarks] = []
        self._overwritten = _Overwritten()
        self._overheads_us: dict[tuple[bool, bool], float] = {}
        """By whether it was a graph, and whether the L2 cache was overwritten before it."""
        size_bytes = _FLUSHED_BY_L2 * device.l2_bytes
        self._flushed = torch.zeros(size_bytes, dtype=torch.uint8, device="cuda")

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Queue everything on a stream of its own, behind what was queued before.

        Raises CudaError for a fault, in place of torch's own words for it.
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
        """Return what queues all that `run` queues, as one graph. Raises NotCapturable."""
        graph = torch.cuda.CUDAGraph()
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        if torch.cuda.memory_reserved() - torch.cuda.memory_allocated() > _MOST_SPARE_BYTES:
            torch.cuda.empty_cache()  # a graph has memory of its own
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
        """Have torch raise RuntimeError where an op waits for the GPU: no graph can hold it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that torch does not see all waiting: captures do
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
        """Fill memory with poison, in the order of the stream; see `to_overwrite`.

        Raises CudaError.
        """
        stream = torch.cuda.current_stream().cuda_stream
        for one in self._overwritten.ranges(made):
            filled = cu.cuMemsetD8Async(one.address, _POISON, one.size_bytes, stream)
            check(filled, "overwriting memory")

    def digests(self, outputs: Sequence[torch.Tensor]) -> list[int]:
        """Return a number for the elements of each, in C order; see `MemoryChecks.digest_of`.

        After all work queued so far; nothing of the key is left for the kernels behind it. Raises
        CudaError.
        """
        plain = [octets_of(one) for one in outputs]
        asked = [self._checks.digest_of(one.data_ptr(), one.numel()) for one in plain]
        found = self._checks.ask(asked)
        self._registers.clear()
        return found

    def overhead_us(self, *, is_graph: bool, flush_l2: bool) -> float:
        """Return the least that is told of a fill of one element, measured once. Raises CudaError.

        Also NotCapturable.
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
        found = []
        for _ in range(_OVERHEAD_RUNS):
            self.head_start(0.0, flush_l2=flush_l2)
            queue()
            found += marks.intervals_us()
        return min(found)

    def mhz(self) -> int | None:
        """Return the clock of the multiprocessors now."""
        return self._clocks.mhz()

    def reasons(self) -> set[str]:
        """Return why the clock is below what it could be now."""
        return self._clocks.reasons()

    def close(self) -> None:
        """Give graphs and marks back; of a context that a fault ended there is nothing to give."""
        with suppress(RuntimeError):
            torch.cuda.synchronize()
            for graph in self._graphs:
                graph.reset()
            for marks in self._marks:
                marks.close()
        self._graphs, self._marks, self._pool = [], [], None
