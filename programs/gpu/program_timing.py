"""Times the calls of a program repeatedly, each between two marks on the GPU.

A call runs as a CUDA graph if it can be captured, which keeps the host out of its time; else op by
op, with a head start. Both calls alternate at random, and the outputs of each run are compared with
the checked ones. This uses torch, but no CUDA API.
"""

from __future__ import annotations

import time
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import torch

from programs.gpu.call_runs import CallRuns
from programs.gpu.prepared_calls import PreparedCalls, TimedProgram, untimable
from programs.gpu.program_order import ProgramTimingOrder
from programs.gpu.timed_call import IterationOutputs
from worker.gpu.launcher.launcher_order import TimingOrder
from worker.gpu.launcher.statistics import summarise
from worker.gpu.launcher.timing_plan import Plan

if TYPE_CHECKING:  # tests time programs without CUDA
    from programs.gpu.cuda_timing import CudaTiming

MAX_IN_A_BATCH = 16
_ENTRIES_MS_RATIO = 0.5
"""The share of `max_ms` for timing single ops."""


def timed(program: TimedProgram, order: ProgramTimingOrder, device: CudaTiming) -> dict[str, Any]:
    """Return the result's fields `timing`, `entries`, `method` and `timing_note`.

    Raises KernelFault, CudaError.
    """
    try:
        if why := untimable(program.tape):
            return untimed(why)
        with torch.no_grad(), device.stream():
            return _ProgramTiming(program, order, device).result()
    except torch.OutOfMemoryError as error:
        return untimed(no_room(error))
    finally:
        device.close()


def untimed(note: str) -> dict[str, Any]:
    """Return the result's fields for a program without times."""
    return {"timing": None, "entries": None, "method": None, "timing_note": note}


def no_room(error: torch.OutOfMemoryError) -> str:
    """Return the note for a program whose timing needs more memory than there is."""
    note = f"It was not timed: the copies to restore before each run do not fit: {error}"
    return note.split("\n", maxsplit=1)[0]


class Circumstances:
    """The state of the GPU while programs are timed: its clock, and what slows it down."""

    def __init__(self, device: CudaTiming, order: ProgramTimingOrder) -> None:
        self._device, self._order = device, order
        self._throttled: set[str] = set()
        self._mhz: int | None = None

    def look(self) -> None:
        """Look now, after a batch of runs."""
        self._throttled |= self._device.reasons()
        self._mhz = self._device.mhz()

    def timing(self, samples_us: list[float], calls: PreparedCalls) -> dict[str, Any]:
        """Return the field `timing` of a program, without the numbers of compared runs."""
        order = self._order
        overhead_us = self._device.overhead_us(is_graph=calls.is_graph, flush_l2=order.flush_l2)
        return {
            **summarise(samples_us, order.min_repeats).to_dict(),
            "clock_mhz": self._mhz,
            "throttled": sorted(self._throttled),
            "samples_us": [round(us, 3) for us in samples_us] if order.samples else None,
            "input_sets": len(calls.runs),
            "overhead_us": round(overhead_us, 3),
        }


class _ProgramTiming:
    def __init__(
        self, program: TimedProgram, order: ProgramTimingOrder, device: CudaTiming
    ) -> None:
        self._program, self._order, self._device = program, order, device
        self._chance = SystemRandom()
        self._around = Circumstances(device, order)

    def result(self) -> dict[str, Any]:
        order = self._order
        outputs = IterationOutputs(self._program.checked, self._device.digests)
        calls = PreparedCalls(self._program, self._device, [])
        timing = self._around.timing(self._samples_us(calls.runs, outputs), calls)
        timing |= outputs.report()
        return {"timing": timing, **described(calls, order, timing["median_us"])}

    def _samples_us(self, runs: list[CallRuns], outputs: IterationOutputs) -> list[float]:
        """Time runs until the median is precise enough, or time runs out."""
        plan = Plan(_plan_order(self._order))
        for run in runs:
            run.time_us(flush_l2=self._order.flush_l2)
        plan.begin(most=MAX_IN_A_BATCH)
        while count := plan.next_count():
            is_timed = not plan.is_warming_up
            plan.queue(count)
            times_us, span_ms = [], 0.0
            for _ in range(count):
                began, run = time.monotonic(), self._chance.choice(runs)
                times_us += run.time_us(flush_l2=self._order.flush_l2)
                span_ms = (time.monotonic() - began) * 1000 * (count - 1)
                if is_timed:
                    with plan.paused():
                        outputs.compare(run.number, run.outputs())
            if is_timed:
                plan.timed(times_us, span_ms)
                self._around.look()
            else:
                plan.warmed_up(count, span_ms)
        return plan.samples_us


def described(calls: PreparedCalls, order: ProgramTimingOrder, median_us: float) -> dict[str, Any]:
    """Return the result's fields `entries`, `method` and `timing_note`."""
    most_ms = order.max_ms * _ENTRIES_MS_RATIO
    entries = None
    if order.entries:
        entries = calls.entries(median_us, most_ms, flush_l2=order.flush_l2)
    return {
        "entries": entries,
        "method": "graph" if calls.is_graph else "events",
        "timing_note": " ".join(calls.notes) or None,
    }


def _plan_order(order: ProgramTimingOrder) -> TimingOrder:
    return TimingOrder(
        warmup_repeats=order.warmup_repeats,
        min_repeats=order.min_repeats,
        max_repeats=order.max_repeats,
        max_ms=order.max_ms,
        flush_l2=order.flush_l2,
        samples=order.samples,
    )
