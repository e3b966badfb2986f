"""Replays both calls of a tape with other values of inputs.

For a reference, it also runs its calls in fp64, and looks whether its outputs could tell right from
wrong: if they are constant, or an input, a program that computes nothing passes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from compiler.messages.wire import Send
from launch.messages import Finding, Tolerance
from programs.replay.checked_tapes import outputs_of
from programs.replay.given_inputs import given_inputs
from programs.replay.live_tensors import bytes_of, in_order
from programs.replay.other_values import OtherParameters, change_inputs
from programs.replay.precise_run import PreciseRun, absolute
from programs.replay.program_run import ProgramRun, ReplayOptions, ReplayStopped, tensors_in
from programs.replay.replay_order import (
    CALLS,
    Experiment,
    InsensitiveOutput,
    OtherValues,
    output_stage,
    precise_stage,
    unwritten_stage,
)
from programs.replay.replayed_launches import ReplayedLaunches
from programs.replay.storage_lifetimes import START, Lifetimes
from programs.tape.schema import Tape, TupleOf, input_path

_UNCHANGED = OtherValues(seed=0)
_MOST_NAMED = 200
"""Limit of the characters of an input's path."""


@dataclass(frozen=True)
class VariedReplay:
    """Replays one tape, whose inputs `source` makes; None: its own ops do."""

    tape: Tape
    needed: Lifetimes
    launches: ReplayedLaunches
    source: Tape | None
    how: ReplayOptions
    memory_bytes: int
    send: Send

    def run(self, experiment: Experiment) -> list[Finding]:
        """Replay with other values, and send the outputs; return findings.

        Given tolerances, elements that rounding moves are sent as unwritten. Raises
        `ReplayStopped`, also if such calls cannot run in fp64.
        """
        assert experiment.values is not None
        run = self._begun(experiment.values)
        precise = self._precise(run) if experiment.tolerances else None
        for call, phase in enumerate(CALLS):
            run.run(phase)
            if precise is not None:
                precise.run(phase)
            for position, id_ in self._outputs(call):
                found, missing = run.tensors.get(id_), run.written.unwritten(id_)
                self._send(output_stage(call, position), bytes_of(found))
                if precise is not None:
                    moved = precise.differing(id_, found, experiment.tolerances[position])
                    missing = moved if missing is None else missing | moved
                if missing is not None:
                    self._send(unwritten_stage(call, position), np.packbits(missing).tobytes())
        return run.findings

    def study(self, experiment: Experiment) -> list[InsensitiveOutput]:
        """Replay with the usual values; return outputs that tell nothing.

        Sends the first call's outputs in fp64, if it can run so.
        """
        run = self._begun(_UNCHANGED)
        given = dict(self._inputs(run))
        precise = self._precise_or_none(run)
        outputs = []
        for call, phase in enumerate(CALLS):
            run.run(phase)
            outputs.append(
                [in_order(run.tensors.get(id_)).clone() for _, id_ in self._outputs(call)]
            )
        if precise is not None:
            self._send_precise(precise)
        pairs = zip(*outputs, strict=False)
        return [
            InsensitiveOutput(position, *told)
            for position, (first, second) in enumerate(pairs)
            if (told := _told(first, second, given, experiment.tolerances[position])) is not None
        ]

    def _begun(self, values: OtherValues) -> ProgramRun:
        """Return a run before its first call."""
        given = {} if self.source is None else given_inputs(self.tape, self.source, self.how)
        parameters = OtherParameters(self.tape, values)
        how = ReplayOptions(
            self.how.seed,
            until=self.how.until,
            after_op=lambda index: parameters.change(index, run.tensors),
        )
        run = ProgramRun(self.tape, self.needed, self.launches, how, given)
        del given  # so that the run can free inputs after their last use
        parameters.change(START, run.tensors)
        run.run("init")
        run.run("inputs")
        if values is not _UNCHANGED:
            change_inputs(self.tape, run.tensors, values.seed)
        return run

    def _precise(self, run: ProgramRun) -> PreciseRun:
        return PreciseRun(self.tape, run, self.how, self.memory_bytes)

    def _precise_or_none(self, run: ProgramRun) -> PreciseRun | None:
        try:
            precise = self._precise(run)
            precise.run(CALLS[0])
        except ReplayStopped:
            return None
        return precise

    def _send_precise(self, precise: PreciseRun) -> None:
        for position, id_ in self._outputs(0):
            found = precise.output(id_)
            if found.dtype is torch.float64:
                self._send(precise_stage(position), bytes_of(found))

    def _inputs(self, run: ProgramRun) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield copies of the first call's inputs that have as many elements as an output."""
        metas = [self.tape.tensors[id_] for _, id_ in self._outputs(0)]
        counts = {torch.Size(meta.shape).numel() for meta in metas}
        for path, id_ in tensors_in(TupleOf(self.tape.inputs)):
            meta = self.tape.tensors[id_]
            if torch.Size(meta.shape).numel() in counts and run.tensors.has(meta.storage):
                yield input_path(path), in_order(run.tensors.get(id_)).clone()

    def _outputs(self, call: int) -> Iterator[tuple[int, int]]:
        for position, (_, id_) in enumerate(tensors_in(outputs_of(self.tape, call))):
            yield position, id_

    def _send(self, stage: str, data: bytes) -> None:
        self.send({"kind": "stage", "stage": stage, "ms": 0.0}, data)


def _told(
    first: torch.Tensor,
    second: torch.Tensor,
    given: Mapping[str, torch.Tensor],
    tolerance: Tolerance,
) -> tuple[str, float] | None:
    """Return what matches an output without any work, and the largest difference."""
    if not first.numel() or first.is_complex():
        return None
    size = first.double().abs()
    allowed = size * tolerance.rtol + absolute(tolerance, first)
    if bool((size <= allowed).all()):
        return None  # the comparison itself finds that zeros match
    others = {"the other call's output": second}
    if first.is_floating_point() and first.numel() > 1:
        others["its own mean everywhere"] = first.double().mean().expand(first.shape)
    others |= {path: one for path, one in given.items() if not one.is_complex()}
    for name, other in others.items():
        if other.numel() == first.numel():
            difference = (first.double() - other.double()).abs()
            if bool((difference <= allowed).all()):
                return name[:_MOST_NAMED], float(difference.max())
    return None
