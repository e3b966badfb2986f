"""Collects the launches of an autotuner's configurations instead of running them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CollectedLaunch:
    """A launch of a configuration: the jitted function, the grid and the arguments."""

    kernel: Any
    grid: list[int]
    args: dict[str, Any]
    constexprs: dict[str, Any]
    options: dict[str, Any]
    tensors: list[Any]
    """The tensors among its arguments."""
    unprepared: bool = False
    """True if it needs a `pre_hook` that the tape does not have."""


class LaunchCollection:
    """Takes launches while an autotuner goes through its configurations. Autotuners may nest."""

    def __init__(self) -> None:
        self._open: list[list[CollectedLaunch]] = []

    @property
    def is_open(self) -> bool:
        """True while launches are collected instead of recorded."""
        return bool(self._open)

    def add(self, launch: CollectedLaunch) -> None:
        """Collect a launch."""
        self._open[-1].append(launch)

    @contextmanager
    def collecting(self) -> Iterator[list[CollectedLaunch]]:
        """Collect the launches of the block."""
        launches: list[CollectedLaunch] = []
        self._open.append(launches)
        try:
            yield launches
        finally:
            self._open.remove(launches)
