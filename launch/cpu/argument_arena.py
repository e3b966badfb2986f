"""The memory that a kernel runs on: created from an order, or existing already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from launch.buffers.allocation import Allocation, filled
from launch.buffers.element_types import Array
from launch.checks.kernel_run import fresh_memory
from launch.messages import RunOrder


class LaunchMemory(Protocol):
    """Memory to run on, which may be asked for more than once: a launch may begin again."""

    def fresh(self) -> list[Allocation]:
        """Return the memory as it is before the launch. Raises `Failure`."""
        ...

    def filled(self) -> list[Array]:
        """Return for each allocation which of its elements were written before the launch."""
        ...


@dataclass(frozen=True)
class OrderedMemory:
    """Memory of a launch's own, as its order describes it; uploads lie in `body`."""

    order: RunOrder
    body: bytes

    def fresh(self) -> list[Allocation]:
        """Return new memory. Raises `Failure`."""
        return fresh_memory(self.order, self.body)

    def filled(self) -> list[Array]:
        """Return which elements have initial contents."""
        return filled(self.order.allocations, self.order.arguments)
