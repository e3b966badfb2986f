"""Changes a replay as an experiment demands: noise, replaced launches, measured times."""

from collections.abc import Sequence
from dataclasses import replace

from launch.checks.kernel_run import RunOptions
from programs.replay.live_tensors import LiveTensors
from programs.replay.noise import Noise
from programs.replay.op_times import OpTimes
from programs.replay.program_run import ReplayOptions
from programs.replay.replay_order import Experiment
from programs.replay.replayed_launches import LaunchReport, ReplayedLaunches, Written
from programs.tape.schema import AtenOp, Tape


class ExperimentChanges:
    """The changes of one experiment; none by default."""

    def __init__(self, experiment: Experiment, tape: Tape) -> None:
        self._experiment, self._tape = experiment, tape
        self._noisy = frozenset(experiment.noise)
        self._noise: Noise | None = None
        self._times = OpTimes(len(tape.ops), experiment.timed)

    @property
    def launches(self) -> ReplayedLaunches | None:
        """The copies that replace kernels; None: kernels run."""
        if self._experiment.launches == "run":
            return None
        return _Copies(self._tape, self._experiment.copies)

    @property
    def op_times_us(self) -> Sequence[float]:
        """The measured time of each op, if any is."""
        return self._times.us

    def options(self, how: ReplayOptions) -> ReplayOptions:
        """Return the options of the changed replay."""
        if self._noisy:
            how = replace(how, after_op=self._after_op)
        if self._experiment.timed:
            how = replace(how, before_op=self._times.note, call=self._times.call)
        return how

    def begin(self, tensors: LiveTensors) -> None:
        """Take the tensors of the run that begins."""
        seed, share = self._experiment.seed, self._experiment.noise_share
        self._noise = Noise(self._tape, tensors, seed, share) if self._noisy else None

    def _after_op(self, index: int) -> None:
        op = self._tape.ops[index]
        if index in self._noisy and self._noise is not None and isinstance(op, AtenOp):
            self._noise.replace_results(op)


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
