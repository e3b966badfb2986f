"""Changes a replay as an experiment demands: noise, replaced launches, measured times."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from launch.checks.kernel_run import RunOptions
from programs.replay.live_tensors import LiveTensors
from programs.replay.noise import Noise
from programs.replay.operators import GeneratorOf, TensorOf, called
from programs.replay.program_run import ReplayOptions
from programs.replay.replay_order import Experiment
from programs.replay.replayed_launches import LaunchReport, ReplayedLaunches, Written
from programs.tape.overload_effects import draws, written_tensors
from programs.tape.schema import AtenOp, Tape, TensorRef

_FIXED_COST_CALLS = 21


class ExperimentChanges:
    """The changes of one experiment; none by default."""

    def __init__(self, experiment: Experiment, tape: Tape) -> None:
        self._experiment, self._tape = experiment, tape
        self._noisy = frozenset(experiment.noise)
        self._noise: Noise | None = None
        self._times = [0.0] * len(tape.ops) if experiment.timed else []
        self._now = 0
        self._fixed_s = 0.0

    @property
    def launches(self) -> ReplayedLaunches | None:
        """The copies that replace kernels; None: kernels run."""
        if self._experiment.launches == "run":
            return None
        return _Copies(self._tape, self._experiment.copies)

    @property
    def op_times_us(self) -> Sequence[float]:
        """The measured time of each op, if any is."""
        return self._times

    def options(self, how: ReplayOptions) -> ReplayOptions:
        """Return the options of the changed replay."""
        if self._noisy:
            how = replace(how, after_op=self._after_op)
        if self._experiment.timed:
            self._fixed_s = _fixed_cost_s(how.device)
            how = replace(how, before_op=self._note, call=self._timed)
        return how

    def begin(self, tensors: LiveTensors) -> None:
        """Take the tensors of the run that begins."""
        seed, share = self._experiment.seed, self._experiment.noise_share
        self._noise = Noise(self._tape, tensors, seed, share) if self._noisy else None

    def _after_op(self, index: int) -> None:
        op = self._tape.ops[index]
        if index in self._noisy and self._noise is not None and isinstance(op, AtenOp):
            self._noise.replace_results(op)

    def _note(self, index: int) -> None:
        self._now = index

    def _timed(
        self, op: AtenOp, tensor: TensorOf, device: torch.device, generator: GeneratorOf
    ) -> list[Any]:
        """Call an op, several times unless that would change what it reads."""
        repeats = 1 if written_tensors(op) or draws(op) else self._experiment.timed
        times = []
        for _ in range(repeats):
            began = time.thread_time()
            results = called(op, tensor, device, generator)
            times.append(time.thread_time() - began)
        self._times[self._now] = max(0.0, statistics.median(times) - self._fixed_s) * 1e6
        return results


class _Copies:
    """Makes copies in place of launches, or nothing."""

    def __init__(self, tape: Tape, copies: Sequence[Sequence[int]]) -> None:
        self._tape = tape
        self._copies: dict[int, list[tuple[int, int]]] = {}
        for index, target, source in copies:
            self._copies.setdefault(index, []).append((target, source))

    def run(
        self, index: int, tensors: LiveTensors, written: Written, _: RunOptions
    ) -> LaunchReport:
        """Replace the launch at op `index`."""
        for target, source in self._copies.get(index, ()):
            found = tensors.get(target)
            found.copy_(tensors.get(source).clone().reshape(found.shape))
            written.write(target)
        return LaunchReport()


def _fixed_cost_s(device: torch.device) -> float:
    """Return the CPU time of a call that computes next to nothing."""
    one = torch.ones(1, device=device)
    args = (TensorRef(0), TensorRef(0))
    add = AtenOp("aten.add.Tensor", args, {}, (1,), "run", None)
    times = []
    for _ in range(_FIXED_COST_CALLS):
        began = time.thread_time()
        called(add, lambda _: one, device)
        times.append(time.thread_time() - began)
    return statistics.median(times)
