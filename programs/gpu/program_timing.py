"""Times the calls of a program repeatedly, each between two marks on the GPU.

A call runs as a CUDA graph if it can be captured, which keeps the host out of its time; else op by
op, with a head start. Both calls alternate at random, and the outputs of each run are compared with
the checked ones. This uses torch, but no CUDA API.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import torch

from programs.gpu.call_runs import CallRuns
from programs.gpu.entry_times import entry_medians, without_markers
from programs.gpu.iteration_outputs import Checked, Hold, IterationOutputs
from programs.gpu.memory_ranges import MemoryRange
from programs.gpu.program_order import ProgramTimingOrder
from programs.gpu.timed_call import (
    CallLaunches,
    GpuTimedCall,
    NotCapturable,
    calls_match,
    devices_drawn_on,
    draws_on,
    queues_work,
)
from programs.replay.live_tensors import LiveTensors
from programs.replay.random_generators import seed_torch
from programs.replay.replay_order import CALLS
from programs.replay.storage_lifetimes import lifetimes
from programs.tape.schema import Tape
from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.statistics import summarise
from worker.gpu.launcher.timing_plan import Plan

if TYPE_CHECKING:  # tests time programs without CUDA
    from programs.gpu.cuda_timing import CudaTiming

_MOST_IN_A_BATCH = 16
_MOST_ENTRIES = 4096
"""The most ops of a call that are timed one by one."""
_PASSES = 12
_FEWEST_PASSES = 3
_ENTRIES_MS_RATIO = 0.5
"""The share of `max_ms` for timing single ops."""


@dataclass(frozen=True)
class TimedProgram:
    """A program whose replay was checked, ready to be timed.

    `tensors` are those at the beginning of the first call: constants, parameters, and the inputs of
    both calls. None that a call needs was freed.
    """

    tape: Tape
    tensors: LiveTensors
    launches: CallLaunches
    checked: Checked
    seed: int
    device: torch.device


def timed(
    program: TimedProgram, order: ProgramTimingOrder, hold: Hold, device: CudaTiming
) -> dict[str, Any]:
    """Return the result's fields `timing`, `entries`, `method`, `repeats` and `timing_note`.

    The outputs of some timed runs are kept and sent. Raises KernelFault, CudaError.
    """
    try:
        if draws_on(program.tape):
            return _untimed("It was not timed: it draws from a torch.Generator that no call seeds.")
        if any(len(devices_drawn_on(program.tape, call)) > 1 for call in range(len(CALLS))):
            return _untimed(
                "It was not timed: a call draws from torch's generators for the CPU and for CUDA, "
                "but a timed run has only one. Draw on one of the two."
            )
        with torch.no_grad(), device.stream():
            return _ProgramTiming(program, order, device).result(hold)
    except torch.OutOfMemoryError as error:
        note = f"It was not timed: the copies to restore before each run do not fit: {error}"
        return _untimed(note.split("\n", maxsplit=1)[0])
    finally:
        device.close()


def _untimed(note: str) -> dict[str, Any]:
    return {"timing": None, "entries": None, "method": None, "repeats": [], "timing_note": note}


class _ProgramTiming:
    def __init__(
        self, program: TimedProgram, order: ProgramTimingOrder, device: CudaTiming
    ) -> None:
        self._program, self._order, self._device = program, order, device
        self._needed = lifetimes(program.tape)
        self._chance = SystemRandom()
        self._made: list[MemoryRange] = []
        self._notes: list[str] = []
        self._throttled: set[str] = set()
        self._mhz: int | None = None

    def result(self, hold: Hold) -> dict[str, Any]:
        checked, digests = self._program.checked, self._device.digests
        may_hold = hold if self._order.sends_iterations else None
        outputs = IterationOutputs(checked, self._chance, digests, may_hold)
        try:
            return self._timed(outputs)
        finally:
            outputs.close()

    def _timed(self, outputs: IterationOutputs) -> dict[str, Any]:
        runs, last, is_graph = self._prepared()
        samples_us = self._samples_us(runs, outputs)
        summary = summarise(samples_us, self._order.min_repeats)
        repeats = outputs.report()
        overhead_us = self._device.overhead_us(is_graph=is_graph, flush_l2=self._order.flush_l2)
        timing = {
            **summary.to_dict(),
            "clock_mhz": self._mhz,
            "throttled": sorted(self._throttled),
            "samples_us": [round(one, 3) for one in samples_us] if self._order.samples else None,
            "input_sets": len(runs),
            "overhead_us": round(overhead_us, 3),
            "checked_repeats": repeats.pop("checked_repeats"),
            "differing_repeats": repeats.pop("differing_repeats"),
        }
        return {
            "timing": timing,
            "entries": self._entries(last, summary.median_us, is_graph=is_graph)
            if self._order.entries
            else None,
            "method": "graph" if is_graph else "events",
            "timing_note": " ".join(self._notes) or None,
            **repeats,
        }

    def _prepared(self) -> tuple[list[CallRuns], GpuTimedCall, bool]:
        """Return the calls to time, the last of them, and True if they are graphs.

        Both are timed if they do the same ops; else only the second, which may reuse what the first
        prepared.
        """
        alike = calls_match(self._program.tape)
        if not alike:
            self._notes.append(
                "The second call does other ops than the first, which prepares something, so only "
                "the second is timed."
            )
        first, runs = self._call(0), []
        first.keep(first.written | self._call(1).written)
        waits = self._warm_up(first)
        try:
            if alike and not waits:
                runs.append(self._runs(first, is_graph=True))
            second = self._after(first)
            waits = self._warm_up(second) or waits
            if not waits:
                runs.append(self._runs(second, is_graph=True))
                return runs, second, True
        except NotCapturable as error:
            waits = str(error)
            second = self._after(first)
        self._notes.append(
            "A call cannot be captured as a CUDA graph, so its ops are queued one by one, and its "
            f"time includes the host's time between them: {waits[:300]}"
        )
        return [self._runs(second, is_graph=False)], second, False

    def _after(self, first: GpuTimedCall) -> GpuTimedCall:
        """Run the first call; return the second, with everything that it needs of the first."""
        first.release()
        first.restore()
        seed_torch(self._program.seed, self._program.device)
        first.run()
        first.free_unneeded()
        second = self._call(1)
        second.keep(first.written | second.written)
        return second

    def _warm_up(self, call: GpuTimedCall) -> str:
        """Run a call once; return why it cannot be captured as a graph, "" if it may."""
        seed_torch(self._program.seed + call.call, self._program.device)
        waits = ""
        try:
            with self._device.no_waiting():
                call.run()
        except RuntimeError as error:
            waits = str(error).split("\n")[0] or type(error).__name__
            call.release()
            call.restore()
            seed_torch(self._program.seed + call.call, self._program.device)
            call.run()
        call.release()
        call.restore()
        return waits

    def _call(self, number: int) -> GpuTimedCall:
        program = self._program
        return GpuTimedCall(
            program.tape, self._needed, number, program.tensors, program.launches, program.device
        )

    def _runs(self, call: GpuTimedCall, *, is_graph: bool, each_op: bool = False) -> CallRuns:
        seed = self._program.seed
        return CallRuns(
            call, self._device, seed, made=self._made, is_graph=is_graph, each_op=each_op
        )

    def _samples_us(self, runs: list[CallRuns], outputs: IterationOutputs) -> list[float]:
        """Time runs until the median is precise enough, or time runs out."""
        plan = Plan(_plan_order(self._order))
        for one in runs:
            one.time_us(flush_l2=self._order.flush_l2)
        plan.begin(most=_MOST_IN_A_BATCH)
        while count := plan.next_count():
            is_timed = not plan.is_warming_up
            plan.queue(count)
            if is_timed:
                outputs.expect(count)
            times_us, span_ms = [], 0.0
            for _ in range(count):
                began, one = time.monotonic(), self._chance.choice(runs)
                times_us += one.time_us(flush_l2=self._order.flush_l2)
                span_ms = (time.monotonic() - began) * 1000 * (count - 1)
                if is_timed:
                    with plan.paused():
                        outputs.compare(one.number, one.outputs())
            if is_timed:
                plan.timed(times_us, span_ms)
                self._look()
            else:
                plan.warmed_up(count, span_ms)
        return plan.samples_us

    def _look(self) -> None:
        self._throttled |= self._device.reasons()
        self._mhz = self._device.mhz()

    def _entries(
        self, call: GpuTimedCall, whole_us: float, *, is_graph: bool
    ) -> list[dict[str, Any]] | None:
        """Return the time of each op of a call that queues work on the device."""
        ops = self._program.tape.ops
        entries = [index for index in call.ops if queues_work(ops[index])]
        if len(entries) > _MOST_ENTRIES:
            self._notes.append(
                f"Its {len(entries):,} ops were not timed one by one: the limit is "
                f"{_MOST_ENTRIES:,}."
            )
            return None
        if len(entries) == 1:
            return [{"op": entries[0], "us": round(whole_us, 3)}]
        try:
            runs = self._runs(call, is_graph=is_graph, each_op=True)
        except NotCapturable as error:  # the call was captured before, so memory is short
            self._notes.append(f"Its ops were not timed one by one: {str(error)[:300]}")
            return None
        ends = time.monotonic() + self._order.max_ms * _ENTRIES_MS_RATIO / 1000
        passes: list[list[float]] = []
        while len(passes) < _FEWEST_PASSES or (len(passes) < _PASSES and time.monotonic() < ends):
            passes.append(runs.time_us(flush_l2=self._order.flush_l2))
        times_us = without_markers(entry_medians(passes), whole_us)
        return [
            {"op": index, "us": round(one, 3)} for index, one in zip(entries, times_us, strict=True)
        ]


def _plan_order(order: ProgramTimingOrder) -> TimingOrder:
    return TimingOrder(
        warmup_repeats=order.warmup_repeats,
        min_repeats=order.min_repeats,
        max_repeats=order.max_repeats,
        max_ms=order.max_ms,
        flush_l2=order.flush_l2,
        samples=order.samples,
    )
