"""Programs prepared for timing, and a CPU device that reports invented times."""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from programs.gpu.fresh_inputs import Draws, FreshInputs
from programs.gpu.memory_ranges import MemoryRange
from programs.gpu.prepared_calls import TimedProgram
from programs.gpu.timed_call import CallLaunches, GpuTimedCall, NotCapturable, octets_of
from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES, called
from programs.replay.program_run import ReplayOptions, seed_of, tensors_in
from programs.replay.storage_lifetimes import lifetimes
from programs.tape.read_tape import read_tape
from programs.tape.schema import AtenOp, Phase, Tape
from tests.programs.with_torch.eager_recording import SEED


class NoLaunches:
    """Name of a tape without kernels."""

    def launch(self, index: int, tensors: LiveTensors) -> None:
        raise AssertionError(f"op {index} is a launch")


def prepared(
    tape: Mapping[str, Any], device: torch.device, launches: CallLaunches | None = None
) -> TimedProgram:
    """Return a program at the start of its first call, and the outputs of its calls run once."""
    read = read_tape(json.dumps(tape).encode())
    launches = launches or NoLaunches()
    tensors, needed = at_first_call(read, device), lifetimes(read)
    found: dict[int, list[int]] = {}
    for number in (0, 1):
        call = GpuTimedCall(read, needed, number, tensors, launches, device)
        torch.manual_seed(SEED + number)
        call.run()
        found[number] = digests(call.outputs())
    tensors = at_first_call(read, device)
    how = ReplayOptions(SEED, device=device, sees_accesses=False)
    fresh = FreshInputs(read, Draws(read, how), tensors)
    return TimedProgram(read, tensors, launches, found, SEED, device, fresh)


def at_first_call(tape: Tape, device: torch.device) -> LiveTensors:
    """Return the tensors that exist when the first call begins."""
    tensors = LiveTensors(tape, device)
    for id_, content in tape.constants.items():
        meta = tape.tensors[id_]
        elements = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(DTYPES[meta.dtype])
        tensors.make(id_).copy_(elements.reshape(meta.shape))
    phases: tuple[Phase, ...] = ("init", "inputs")
    for phase in phases:
        torch.manual_seed(seed_of(phase, SEED))
        for op in tape.ops:
            if op.phase == phase and isinstance(op, AtenOp):
                results = called(op, tensors.get, device)
                for id_, found in zip(op.outputs, results, strict=True):
                    if id_ is not None and found is not None:
                        tensors.bind(id_, found, may_copy=True)
    return tensors


def outputs_of(tape: Tape, call: int) -> list[int]:
    """Return the tensors that a call returns."""
    return [id_ for _, id_ in tensors_in((tape.outputs, tape.outputs2)[call])]


class GraphOfCpuOps(TorchDispatchMode):
    """Repeats the same CPU ops into the same memory, like a CUDA graph on a GPU."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: list[Callable[[], None]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        result = func(*args, **named)
        made = [one for one in tree_flatten(result)[0] if isinstance(one, torch.Tensor)]
        is_work = func.overloadpacket not in _NO_WORK

        def again() -> None:
            for kept, found in zip(made, tree_flatten(func(*args, **named))[0], strict=True):
                if kept.data_ptr() != found.data_ptr():
                    kept.copy_(found)

        if is_work:
            self._steps.append(again)
        return result

    def add(self, step: Callable[[], None]) -> None:
        """Add this op to the graph."""
        self._steps.append(step)

    def replay(self) -> None:
        """Run all ops."""
        for step in self._steps:
            step()


_NO_WORK = {torch.ops.aten.empty, torch.ops.aten.set_}


def digests(outputs: Sequence[torch.Tensor]) -> list[int]:
    """Return a number for each that only equal elements share."""
    contents = [octets_of(one).numpy().tobytes() for one in outputs]
    return [int.from_bytes(blake2b(one, digest_size=8).digest()) for one in contents]


class HostMarks:
    """Marks of this machine's clock: ops of the CPU are over when they return."""

    def __init__(self, device: FakeDevice) -> None:
        self._device = device
        self._times_ns: list[int] = []
        self._used = 0

    def begin(self) -> None:
        self._used = 0

    def mark(self) -> None:
        at = self._used
        self._used += 1
        self._times_ns[at:] = [0]
        if self._device.graph is not None:
            self._device.graph.add(lambda: self._stamp(at))
        self._stamp(at)

    def intervals_us(self) -> list[float]:
        return [(later - one) / 1000 for one, later in pairwise(self._times_ns)]

    def close(self) -> None:
        self._times_ns = []

    def _stamp(self, at: int) -> None:
        self._times_ns[at] = time.perf_counter_ns()


class FakeDevice:
    """The CPU of this machine instead of a GPU: it proves nothing about a GPU's times."""

    def __init__(self, *, captures: bool = True) -> None:
        self.captures = captures
        self.overwritten: list[MemoryRange] = []
        self.flushes = 0
        self.is_closed = False
        self.graph: GraphOfCpuOps | None = None

    @contextmanager
    def stream(self) -> Iterator[None]:
        yield

    def marks(self) -> HostMarks:
        return HostMarks(self)

    def capture(self, run: Callable[[], None]) -> Callable[[], None]:
        if not self.captures:
            raise NotCapturable("this one captures nothing")
        self.graph = graph = GraphOfCpuOps()
        try:
            with graph:
                run()
        finally:
            self.graph = None
        return graph.replay

    @contextmanager
    def no_waiting(self) -> Iterator[None]:
        yield

    def head_start(self, duration_us: float, *, flush_l2: bool) -> None:
        assert duration_us >= 0
        self.flushes += flush_l2

    def overwrite(self, made: Sequence[MemoryRange]) -> None:
        for one in made:
            ctypes.memset(one.address, 0xFF, one.size_bytes)
            self.overwritten.append(one)

    def digests(self, outputs: Sequence[torch.Tensor]) -> list[int]:
        return digests(outputs)

    def overhead_us(self, *, is_graph: bool, flush_l2: bool) -> float:
        return 0.1

    def mhz(self) -> int | None:
        return None

    def reasons(self) -> set[str]:
        return set()

    def close(self) -> None:
        self.is_closed = True
