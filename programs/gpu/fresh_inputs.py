"""Draws other values for a program's inputs before a timed run, with the ops that made them.

So a kernel gains nothing by keeping results: no timed run has the inputs of another. A program and
its reference get the same values. This uses torch, but no CUDA API.
"""

from collections.abc import Mapping
from dataclasses import replace

import torch

from programs.replay.live_tensors import LiveTensors
from programs.replay.program_run import ProgramRun, ReplayOptions, tensors_in
from programs.replay.replay_order import CALLS
from programs.replay.storage_lifetimes import lifetimes
from programs.replay.written_storages import NoLaunches
from programs.tape.inputs_tape import inputs_only
from programs.tape.overload_effects import drawing_device, tensors_at
from programs.tape.schema import Op, Seeding, Tape, TensorRef, TupleOf

_SEEDS = 1 << 63


class Draws:
    """Values of the inputs of one call after the other, by path; the last ones are kept."""

    def __init__(self, source: Tape, how: ReplayOptions) -> None:
        """Take the tape whose ops make the inputs. Raises `InvalidTape` if kernels make them."""
        whole = inputs_only(source)
        self._how = how
        self._tapes = [_of_call(whole, call) for call in range(len(CALLS))]
        self._needed = [lifetimes(tape) for tape in self._tapes]
        self._last: tuple[tuple[int, int], Mapping[str, torch.Tensor]] | None = None

    @property
    def are_random(self) -> bool:
        """True if some inputs have random values."""
        return any(drawing_device(op, tape) for tape in self._tapes for op in tape.ops)

    def values(self, call: int, seed: int) -> Mapping[str, torch.Tensor]:
        """Return the inputs of a call. Raises `ReplayStopped`."""
        if self._last is None or self._last[0] != (call, seed):
            self._last = None
            self._last = ((call, seed), self._drawn(call, seed))
        return self._last[1]

    def forget(self) -> None:
        """Free the last values."""
        self._last = None

    def _drawn(self, call: int, seed: int) -> Mapping[str, torch.Tensor]:
        tape = _reseeded(self._tapes[call], seed)
        how = replace(self._how, seed=seed)
        run = ProgramRun(tape, self._needed[call], NoLaunches(), how, {})
        run.run("init")
        run.run("inputs")
        return {path: run.tensors.get(id_) for path, id_ in _inputs(tape, call)}


class FreshInputs:
    """The inputs of one program, in the memory that its calls read."""

    def __init__(self, tape: Tape, draws: Draws, tensors: LiveTensors) -> None:
        self._tape, self._draws, self._tensors = tape, draws, tensors
        self._ids = [
            [(path, id_) for path, id_ in _inputs(tape, call) if self._may_change(id_)]
            for call in range(len(CALLS))
        ]

    @property
    def are_random(self) -> bool:
        """True if some of them have random values."""
        return self._draws.are_random

    @property
    def storages(self) -> frozenset[int]:
        """The storages that get other values."""
        return frozenset(self._tape.tensors[id_].storage for ids in self._ids for _, id_ in ids)

    def draw(self, call: int, seed: int) -> None:
        """Give the inputs of a call the values of a seed. Raises `ReplayStopped`."""
        values = self._draws.values(call, seed)
        for path, id_ in self._ids[call]:
            self._tensors.get(id_).copy_(values[path])

    def forget(self) -> None:
        """Free what was drawn apart from the inputs themselves."""
        self._draws.forget()

    def _may_change(self, id_: int) -> bool:
        """Return True for a tensor that a call needs, and that has no element twice."""
        meta = self._tape.tensors[id_]
        return self._tensors.has(meta.storage) and 0 not in meta.strides


def _inputs(tape: Tape, call: int) -> list[tuple[str, int]]:
    return list(tensors_in(TupleOf((tape.inputs, tape.inputs2)[call])))


def _of_call(tape: Tape, call: int) -> Tape:
    """Return a tape that makes the inputs of one call alone."""
    inputs = (tape.inputs, tape.inputs2)[call]
    ids = [id_ for _, id_ in _inputs(tape, call)]
    needed = {tape.tensors[id_].storage for id_ in ids}
    ops: list[Op] = []
    for op in reversed(tape.ops):
        touched = {tape.tensors[id_].storage for id_ in tensors_at(op)}
        if isinstance(op, Seeding) or touched & needed:
            ops.append(op)
            needed |= touched
    constants = {
        id_: content
        for id_, content in tape.constants.items()
        if tape.tensors[id_].storage in needed
    }
    return replace(
        tape,
        ops=tuple(reversed(ops)),
        constants=constants,
        init_inputs=(),
        inputs=inputs if not call else (),
        inputs2=inputs if call else (),
        params=(),
        outputs=TupleOf(tuple(TensorRef(id_) for id_ in ids)),
    )


def _reseeded(tape: Tape, seed: int) -> Tape:
    """Return a tape that seeds generators with other seeds, which its author cannot foresee."""
    if not any(isinstance(op, Seeding) for op in tape.ops):
        return tape
    ops = [
        replace(op, seed=(op.seed ^ seed) % _SEEDS) if isinstance(op, Seeding) else op
        for op in tape.ops
    ]
    return replace(tape, ops=tuple(ops))
