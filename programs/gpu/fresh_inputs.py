"""Draws other values for a program's inputs before a timed run, with the ops that made them.

So a kernel gains nothing by keeping results: no timed run has the inputs of another. A program and
its reference get the same values from the same seed. This uses torch, but no CUDA API.
"""

from dataclasses import replace

from programs.replay.checked_tapes import given_inputs
from programs.replay.live_tensors import LiveTensors
from programs.replay.program_run import ReplayOptions, tensors_in
from programs.tape.inputs_tape import inputs_only
from programs.tape.overload_effects import drawing_device
from programs.tape.schema import Seeding, Tape, TupleOf

_SEEDS = 1 << 63


class FreshInputs:
    """The inputs of one program, in the memory that its calls read."""

    def __init__(
        self, tape: Tape, source: Tape | None, how: ReplayOptions, tensors: LiveTensors
    ) -> None:
        """Take the ops of `source`, which make the inputs; None: the tape's own do.

        Raises `InvalidTape` if kernels make them.
        """
        self._tape, self._how, self._tensors = tape, how, tensors
        self._source = inputs_only(tape) if source is None else source
        self._ids = tuple(
            [id_ for _, id_ in tensors_in(TupleOf(given)) if self._may_change(id_)]
            for given in (tape.inputs, tape.inputs2)
        )

    @property
    def are_drawn(self) -> bool:
        """True if the inputs have random values."""
        return any(drawing_device(op, self._source) is not None for op in self._source.ops)

    @property
    def storages(self) -> frozenset[int]:
        """The storages that get other values."""
        return frozenset(self._tape.tensors[id_].storage for ids in self._ids for id_ in ids)

    def draw(self, call: int, seed: int) -> None:
        """Give the inputs of a call the values of a seed. Raises `ReplayStopped`, `InvalidTape`."""
        given = given_inputs(self._tape, _reseeded(self._source, seed), self._seeded(seed))
        for id_ in self._ids[call]:
            self._tensors.get(id_).copy_(given[id_])

    def _may_change(self, id_: int) -> bool:
        """Return True for a tensor that a call needs, and that has no element twice."""
        meta = self._tape.tensors[id_]
        return self._tensors.has(meta.storage) and 0 not in meta.strides

    def _seeded(self, seed: int) -> ReplayOptions:
        return replace(self._how, seed=seed)


def _reseeded(tape: Tape, seed: int) -> Tape:
    """Return a tape that seeds generators with other seeds, which its author cannot foresee."""
    ops = [
        replace(op, seed=(op.seed ^ seed) % _SEEDS) if isinstance(op, Seeding) else op
        for op in tape.ops
    ]
    return replace(tape, ops=tuple(ops))
