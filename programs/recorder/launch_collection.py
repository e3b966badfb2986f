"""Collects the launches that an autotuner's configurations come to, in the place of trying them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class CollectedLaunch:
    """One launch that was not made: of which function, with what."""

    kernel: Any
    grid: list[int]
    args: dict[str, Any]
    constexprs: dict[str, Any]
    options: dict[str, Any]
    tensors: list[Any]
    """The tensors that it was given."""
    unprepared: bool = False
    """It needs a `pre_hook` that is not written down."""


class LaunchCollection:
    """Where launches go while an autotuner looks at its configurations; they may be nested."""

    def __init__(self) -> None:
        self._open: list[list[CollectedLaunch]] = []

    @property
    def is_open(self) -> bool:
        """Whether launches are collected and not made."""
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
