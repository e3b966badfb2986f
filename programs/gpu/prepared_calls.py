"""Prepares the calls of a program for timing: as CUDA graphs if possible, else op by op.

This uses torch, but no CUDA API.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import torch

from programs.gpu.call_runs import CallRuns
from programs.gpu.entry_times import entry_medians, without_markers
from programs.gpu.fresh_inputs import FreshInputs
from programs.gpu.memory_ranges import MemoryRange
from programs.gpu.timed_call import (
    CallLaunches,
    Checked,
    GpuTimedCall,
    NotCapturable,
    calls_match,
    devices_drawn_on,
    draws_on,
    queues_work,
)
from programs.replay.live_tensors import LiveTensors
from programs.replay.program_run import seed_torch
from programs.replay.replay_order import CALLS
from programs.replay.storage_lifetimes import lifetimes
from programs.tape.schema import Tape

if TYPE_CHECKING:  # tests time programs without CUDA
    from programs.gpu.cuda_timing import CudaTiming

_MAX_ENTRIES = 4096
"""The most ops of a call that are timed one by one."""
_PASSES = 12
_MIN_PASSES = 3
SEED_BITS = 63
"""The size of a secret seed."""
_CHANCE = SystemRandom()


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
    fresh: FreshInputs | None = None
    """Draws other inputs; None: each run has those of the checked calls."""


def untimable(tape: Tape) -> str:
    """Return why a program's runs cannot be repeated, "" if they can."""
    if draws_on(tape):
        return "It was not timed: it draws from a torch.Generator that no call seeds."
    if any(len(devices_drawn_on(tape, call)) > 1 for call in range(len(CALLS))):
        return (
            "It was not timed: a call draws from torch's generators for the CPU and for CUDA, "
            "but a timed run has only one. Draw on one of the two."
        )
    return ""


class PreparedCalls:
    """The calls of one program that are timed. Raises KernelFault, CudaError."""

    def __init__(self, program: TimedProgram, device: CudaTiming, made: list[MemoryRange]) -> None:
        """`made` gets the memory that the program's graphs allocate."""
        self._program, self._device, self._made = program, device, made
        self._needed = lifetimes(program.tape)
        self.notes: list[str] = []
        self.runs: list[CallRuns] = []
        self.is_graph = True
        self.written: frozenset[int] = frozenset()
        """The storages that either call may write."""
        self._calls: list[GpuTimedCall] = []
        """The timed calls; the last is the second one."""
        self._prepare()

    @property
    def copies(self) -> list[torch.Tensor]:
        """The bytes that are restored before runs."""
        return [copy for call in self._calls for copy in call.copies]

    def _prepare(self) -> None:
        """Prepare both calls if they do the same ops; else only the second.

        The second may reuse what the first prepared.
        """
        alike = calls_match(self._program.tape)
        if not alike:
            self.notes.append(
                "The second call does other ops than the first, which prepares something, so only "
                "the second is timed."
            )
        first = self._call(0)
        first.keep(first.written | self._call(1).written)
        waits = self._warm_up(first)
        try:
            if alike and not waits:
                self.runs.append(self._runs(first, is_graph=True))
            second = self._after(first)
            waits = self._warm_up(second) or waits
            if not waits:
                self.runs.append(self._runs(second, is_graph=True))
                self._take([first, second] if alike else [second], first)
                return
        except NotCapturable as error:
            waits = str(error)
            second = self._after(first)
        self.notes.append(
            "A call cannot be captured as a CUDA graph, so its ops are queued one by one, and its "
            f"time includes the host's time between them: {waits[:300]}"
        )
        self.is_graph = False
        self.runs = [self._runs(second, is_graph=False)]
        self._take([second], first)

    def _take(self, timed: list[GpuTimedCall], first: GpuTimedCall) -> None:
        self._calls, self.written = timed, first.written | timed[-1].written

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
        program = self._program
        return CallRuns(
            call,
            self._device,
            program.seed,
            made=self._made,
            is_graph=is_graph,
            each_op=each_op,
            fresh=program.fresh,
        )

    def entries(
        self, whole_us: float, most_ms: float, *, flush_l2: bool
    ) -> list[dict[str, Any]] | None:
        """Return the time of each op of the last call that queues work on the device."""
        call, ops = self._calls[-1], self._program.tape.ops
        entries = [index for index in call.ops if queues_work(ops[index])]
        if len(entries) > _MAX_ENTRIES:
            self.notes.append(
                f"Its {len(entries):,} ops were not timed one by one: the limit is "
                f"{_MAX_ENTRIES:,}."
            )
            return None
        if len(entries) == 1:
            return [{"op": entries[0], "us": round(whole_us, 3)}]
        try:
            runs = self._runs(call, is_graph=self.is_graph, each_op=True)
        except NotCapturable as error:  # the call was captured before, so memory is short
            self.notes.append(f"Its ops were not timed one by one: {str(error)[:300]}")
            return None
        ends = time.monotonic() + most_ms / 1000
        passes: list[list[float]] = []
        while len(passes) < _MIN_PASSES or (len(passes) < _PASSES and time.monotonic() < ends):
            seed = None if self._program.fresh is None else _CHANCE.getrandbits(SEED_BITS)
            passes.append(runs.time_us(flush_l2=flush_l2, seed=seed))
        times_us = without_markers(entry_medians(passes), whole_us)
        return [
            {"op": index, "us": round(time_us, 3)}
            for index, time_us in zip(entries, times_us, strict=True)
        ]
