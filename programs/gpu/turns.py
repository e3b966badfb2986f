"""Times a program and its reference in turns: clocks and heat touch both alike.

Each turn draws other inputs for both, by chance, so that results of earlier runs are worth nothing.
The program runs first, and everything that earlier runs left is overwritten before. Its outputs are
compared with the reference's of the same turn. Digests show live memory that runs changed without
an op that may write it: of a kernel that keeps results, or reaches for its reference's tensors.
This uses torch, but no CUDA API.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import torch

from launch.messages import Tolerance
from programs.gpu.call_runs import CallRuns
from programs.gpu.memory_ranges import MemoryRange
from programs.gpu.prepared_calls import SEED_BITS, PreparedCalls, TimedProgram, untimable
from programs.gpu.program_order import MAX_CHANGED, ProgramTimingOrder
from programs.gpu.program_timing import (
    MAX_IN_A_BATCH,
    Circumstances,
    described,
    no_room,
    untimed,
)
from programs.replay.checked_tapes import outputs_of
from programs.replay.device_comparison import compare_on_device
from programs.replay.program_run import ReplayStopped, tensors_in
from worker.gpu.launcher.timing_plan import iterations_needed

if TYPE_CHECKING:  # tests time programs without CUDA
    from programs.gpu.cuda_timing import CudaTiming

_MIN_TURNS = 3
_WARM_UP_SHARE = 0.25
_MAX_WALL_RATIO = 6
"""Limit of the wall time of all turns, as a ratio of `max_ms`, with draws and comparisons."""
ALWAYS_COMPARED = 8
"""The number of turns that are compared, however long it takes."""
_COMPARED_ONE_IN = 8
_COMPARING_MS_RATIO = 0.1
"""The share of `max_ms` after which only one turn in `_COMPARED_ONE_IN` is compared."""
_WIDER = 4.0
"""The ratio of tolerances to the usual: hundreds of turns have rarer values than two calls."""
_MAX_MISMATCHED_RATIO = 0.001
MAX_WRONG = 4
"""Limit of the turns in a report that do not match."""


def timed_in_turns(
    programs: tuple[TimedProgram, TimedProgram],
    order: ProgramTimingOrder,
    tolerances: Mapping[int, Tolerance],
    device: CudaTiming,
) -> dict[str, Any]:
    """Return the result's fields of `timed` for a program, and `turns` with its reference's.

    `wrong_turns` has turns whose outputs differ by more than `tolerances`, by position. Raises
    KernelFault, CudaError.
    """
    try:
        for program in programs:
            if why := untimable(program.tape):
                return untimed(why)
        with torch.no_grad(), device.stream():
            return _Turns(programs, order, tolerances, device).result()
    except torch.OutOfMemoryError as error:
        return untimed(no_room(error))
    except ReplayStopped as stopped:
        return untimed(f"It was not timed: its inputs could not be drawn again: {stopped}"[:500])
    finally:
        device.close()


class _Turns:
    def __init__(
        self,
        programs: tuple[TimedProgram, TimedProgram],
        order: ProgramTimingOrder,
        tolerances: Mapping[int, Tolerance],
        device: CudaTiming,
    ) -> None:
        self._programs, self._order, self._device = programs, order, device
        self._tolerances = {at: _wider(tolerance) for at, tolerance in tolerances.items()}
        self._around = Circumstances(device, order)
        self._chance = SystemRandom()
        made: list[MemoryRange] = []
        """The memory of both, which is overwritten before each run."""
        self._calls = [PreparedCalls(program, device, made) for program in programs]
        self._runs = [{run.number: run for run in calls.runs} for calls in self._calls]
        self._numbers = sorted(self._runs[0].keys() & self._runs[1].keys())
        self._samples_us: tuple[list[float], list[float]] = ([], [])
        self._compared = self._differing = 0
        self._compared_s = 0.0
        self._wrong: list[dict[str, Any]] = []

    def result(self) -> dict[str, Any]:
        order, watched = self._order, _WatchedMemory(self._programs, self._calls, self._device)
        began = time.monotonic()
        self._warm_up(began)
        while count := self._next_count(began):
            for _ in range(count):
                self._turn()
            self._around.look()
            watched.look()
        ours, theirs = (
            self._around.timing(samples_us, calls)
            for samples_us, calls in zip(self._samples_us, self._calls, strict=True)
        )
        ours |= {"checked_repeats": self._compared, "differing_repeats": self._differing}
        other = replace(order, entries=False)
        return {
            "timing": ours | {"fresh_values": self._are_fresh},
            **described(self._calls[0], order, ours["median_us"]),
            "turns": {"timing": theirs, **described(self._calls[1], other, theirs["median_us"])},
            "wrong_turns": self._wrong,
            **watched.report(),
        }

    @property
    def _are_fresh(self) -> bool:
        return all(
            program.fresh is not None and program.fresh.are_random for program in self._programs
        )

    def _warm_up(self, began: float) -> None:
        most_s = self._order.max_ms * _WARM_UP_SHARE / 1000
        for turn in range(max(1, self._order.warmup_repeats)):
            if turn and time.monotonic() - began > most_s:
                return
            for number in self._numbers if not turn else (self._chance.choice(self._numbers),):
                self._run(number, None)

    def _next_count(self, began: float) -> int:
        """Return the number of turns to take next; 0 if both medians are known, or time is up."""
        order, have = self._order, len(self._samples_us[0])
        needed = max(iterations_needed(sorted(samples_us)) for samples_us in self._samples_us)
        wanted = max(order.min_repeats, needed)
        wanted = max(min(wanted, order.max_repeats or wanted), _MIN_TURNS)
        spent_ms = (time.monotonic() - began) * 1000
        turn_ms = spent_ms / max(1, have)
        left_ms = order.max_ms * _MAX_WALL_RATIO - spent_ms
        affordable = max(math.floor(left_ms / turn_ms) if have else wanted, _MIN_TURNS - have)
        if sum(map(sum, self._samples_us)) > 2 * order.max_ms * 1000:
            affordable = _MIN_TURNS - have
        return max(0, min(wanted - have, affordable, MAX_IN_A_BATCH))

    def _turn(self) -> None:
        """Run both on the same new inputs, and compare their outputs."""
        number = self._chance.choice(self._numbers)
        seed, compares = self._chance.getrandbits(SEED_BITS), self._may_compare()
        ours, theirs = self._run(number, seed, compares=compares)
        self._samples_us[0].extend(ours)
        self._samples_us[1].extend(theirs)

    def _run(self, number: int, seed: int | None, *, compares: bool = False) -> list[list[float]]:
        """Run both once; return their times. None: on the inputs of the checked calls."""
        ours, theirs = (runs[number] for runs in self._runs)
        flush = self._order.flush_l2
        times_us = [ours.time_us(flush_l2=flush, seed=seed)]
        returned = [output.clone() for output in ours.outputs()] if compares else []
        ours.release()
        times_us.append(theirs.time_us(flush_l2=flush, seed=seed))
        for program in self._programs:
            if program.fresh is not None:
                program.fresh.forget()
        if compares:
            self._compare(number, returned, theirs)
        theirs.release()
        return times_us

    def _may_compare(self) -> bool:
        """Return True for a turn to compare, which a kernel cannot know."""
        most_s = self._order.max_ms * _COMPARING_MS_RATIO / 1000
        if self._compared < ALWAYS_COMPARED or self._compared_s < most_s:
            return True
        return self._chance.randrange(_COMPARED_ONE_IN) == 0

    def _compare(self, number: int, returned: Sequence[torch.Tensor], theirs: CallRuns) -> None:
        began, expected, wrong = time.monotonic(), theirs.outputs(), []
        for position, tolerance in self._tolerances.items():
            actual = returned[position]
            _, comparison = compare_on_device(
                actual, expected[position], self._dtype(number, position), tolerance
            )
            if not comparison["matches"]:
                wrong.append(position)
        self._compared += 1
        self._compared_s += time.monotonic() - began
        if wrong:
            self._differing += 1
            turn = {"repeat": len(self._samples_us[0]), "call": number, "outputs": wrong}
            self._wrong += [turn][: MAX_WRONG - len(self._wrong)]

    def _dtype(self, number: int, position: int) -> str:
        tape = self._programs[0].tape
        ids = [id_ for _, id_ in tensors_in(outputs_of(tape, number))]
        return tape.tensors[ids[position]].dtype


def _wider(tolerance: Tolerance) -> Tolerance:
    return replace(
        tolerance,
        rtol=_WIDER * tolerance.rtol,
        atol=_WIDER * tolerance.atol,
        max_mismatched_ratio=max(tolerance.max_mismatched_ratio, _MAX_MISMATCHED_RATIO),
    )


class _WatchedMemory:
    """The tensors of a program and its reference that keep their contents in all runs.

    Those that a call may write are restored before each run, and inputs are drawn again.
    """

    def __init__(
        self,
        programs: Sequence[TimedProgram],
        calls: Sequence[PreparedCalls],
        device: CudaTiming,
    ) -> None:
        """Digest them. The first program is the candidate."""
        self._device = device
        self._storages: list[int | None] = []
        """The candidate's storage of each watched tensor; None: it is of no call of it."""
        self._octets: list[torch.Tensor] = []
        for program, prepared in zip(programs, calls, strict=True):
            of_candidate = program is programs[0]
            for storage in _kept(program, prepared):
                self._storages.append(storage if of_candidate else None)
                self._octets.append(program.tensors.octets(storage))
            self._octets += prepared.copies
            self._storages += [None] * len(prepared.copies)
        self._before = device.digests(self._octets)
        self._changed: set[int] = set()
        self._changed_elsewhere = False

    def look(self) -> None:
        """Digest them again, and note those that changed."""
        now = self._device.digests(self._octets)
        for storage, digest, before in zip(self._storages, now, self._before, strict=True):
            if digest == before:
                continue
            if storage is None:
                self._changed_elsewhere = True
            else:
                self._changed.add(storage)
        self._before = now

    def report(self) -> dict[str, Any]:
        """Return the result's fields `changed_storages` and `changed_elsewhere`."""
        return {
            "changed_storages": sorted(self._changed)[:MAX_CHANGED],
            "changed_elsewhere": self._changed_elsewhere,
        }


def _kept(program: TimedProgram, prepared: PreparedCalls) -> list[int]:
    drawn = frozenset[int]() if program.fresh is None else program.fresh.storages
    changing = prepared.written | drawn
    return [
        storage
        for storage in range(len(program.tape.storages))
        if program.tensors.has(storage) and storage not in changing
    ]
