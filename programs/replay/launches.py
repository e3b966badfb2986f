"""What runs the launches of a tape: the CPU device here, cubins on a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from launch.checks.kernel_run import RunOptions
from launch.checks.touched_memory import TouchedBytes
from launch.messages import Finding
from programs.replay.live_tensors import LiveTensors
from programs.replay.poisoned_storages import PoisonedStorages
from programs.replay.written_storages import WrittenStorages
from programs.tape.invalid_tape import InvalidTape
from programs.tape.schema import Tape, TapeLaunch

Kernel = TypeVar("Kernel")
"""What a launch is of: a kernel's name, or those of its variants."""
Written = WrittenStorages | PoisonedStorages
"""What is known of memory that nobody wrote: by accesses on the CPU, by its contents on a GPU."""


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """What one launch did wrong; `stopped` is what ended it, and the replay."""

    findings: Sequence[Finding] = ()
    stopped: Finding | None = None
    touched: Mapping[int, TouchedBytes] = field(default_factory=dict)
    """What it did to the storages that ops of several streams may share."""


class ReplayedLaunches(Protocol):
    """Runs the launches of one tape, by their index among its ops."""

    def run(
        self, index: int, tensors: LiveTensors, written: Written, how: RunOptions, /
    ) -> LaunchReport:
        """Run one. Raises `Failure`, `InvalidTape`, and what the device raises."""


def kernels_by_op(tape: Tape, kernels: Sequence[Kernel]) -> Mapping[int, Kernel]:
    """Return which kernel is whose, by the launch's index among the ops of a tape.

    Raises `InvalidTape` where the tape has another number of launches than kernels came for.
    """
    ops = [index for index, op in enumerate(tape.ops) if isinstance(op, TapeLaunch)]
    if len(ops) != len(kernels):
        what = f"it has {len(ops)} launches, but kernels came for {len(kernels)}"
        raise InvalidTape("/ops", what)
    return dict(zip(ops, kernels, strict=True))


class NoLaunches:
    """For tapes that have none: those that make inputs."""

    def run(self, index: int, *_: object) -> LaunchReport:
        """Raise `InvalidTape`."""
        raise InvalidTape(f"/ops/{index}", "a launch where only torch is called")
