"""The interface that runs a tape's launches: on the CPU device, or as cubins on a GPU."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from launch.checks.kernel_run import RunOptions
from launch.messages import Finding
from programs.replay.live_tensors import LiveTensors
from programs.replay.poisoned_storages import PoisonedStorages
from programs.replay.written_storages import WrittenStorages
from programs.tape.schema import InvalidTape, Tape, TapeLaunch

Kernel = TypeVar("Kernel")
"""The kernel of a launch: its name, or the names of its variants."""
Written = WrittenStorages | PoisonedStorages
"""Tracks unwritten memory: by accesses on the CPU, by its contents on a GPU."""


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """The findings of one launch; `stopped` is the one that ended the replay."""

    findings: Sequence[Finding] = ()
    stopped: Finding | None = None
    further: Sequence[Finding] = ()
    """Findings that followed from a failed load of the same launch, `stopped`."""


class ReplayedLaunches(Protocol):
    """Runs the launches of one tape, by their index among its ops."""

    def run(
        self, index: int, tensors: LiveTensors, written: Written, how: RunOptions, /
    ) -> LaunchReport:
        """Run one launch. Raises `Failure`, `InvalidTape`, and the device's errors."""


def kernels_by_op(tape: Tape, kernels: Sequence[Kernel]) -> Mapping[int, Kernel]:
    """Return the kernel of each launch, by the launch's index among the ops of a tape.

    Raises `InvalidTape` if the numbers of launches and of kernels differ.
    """
    ops = [index for index, op in enumerate(tape.ops) if isinstance(op, TapeLaunch)]
    if len(ops) != len(kernels):
        what = f"it has {len(ops)} launches, but {len(kernels)} kernels were sent"
        raise InvalidTape("/ops", what)
    return dict(zip(ops, kernels, strict=True))


class NoLaunches:
    """Stands for the launches of a tape without any, which makes inputs."""

    def run(self, index: int, *_: object) -> LaunchReport:
        """Raise `InvalidTape`."""
        raise InvalidTape(f"/ops/{index}", "a tape that makes inputs cannot launch kernels")
