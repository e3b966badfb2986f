"""What runs the launches of a tape: the CPU device here, cubins on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from launch.checks.kernel_run import RunOptions
from launch.messages import Finding
from programs.replay.live_tensors import LiveTensors
from programs.replay.poisoned_storages import PoisonedStorages
from programs.replay.written_storages import WrittenStorages
from programs.tape.forged import ForgedTape

Written = WrittenStorages | PoisonedStorages
"""What is known of memory that nobody wrote: by accesses on the CPU, by its contents on a GPU."""


@dataclass(frozen=True, slots=True)
class LaunchReport:
    """What one launch did wrong; `stopped` is what ended it, and the replay."""

    findings: Sequence[Finding] = ()
    stopped: Finding | None = None


class Launches(Protocol):
    """Runs the launches of one tape, by their index among its ops."""

    def run(
        self, index: int, tensors: LiveTensors, written: Written, how: RunOptions, /
    ) -> LaunchReport:
        """Run one. Raises `Failure`, `ForgedTape`, and what the device raises."""


class NoLaunches:
    """For tapes that have none: those that make inputs."""

    def run(self, index: int, *_: object) -> LaunchReport:
        """Raise `ForgedTape`."""
        raise ForgedTape(f"/ops/{index}", "a launch where only torch is called")
