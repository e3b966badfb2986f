"""The memory that a kernel runs on: created from an order, or provided by the caller."""

from dataclasses import dataclass
from typing import Protocol

from launch.buffers.allocation import Allocation, filled
from launch.buffers.element_types import Array
from launch.checks.kernel_run import fresh_memory
from launch.messages import RunOrder


class LaunchMemory(Protocol):
    """Memory to run on. A launch that starts again asks for fresh memory again."""

    def fresh(self) -> list[Allocation]:
        """Return memory with the contents before the launch. Raises `Failure`."""
        ...

    def filled(self) -> list[Array]:
        """Return a mask for each allocation: the elements written before the launch."""
        ...


@dataclass(frozen=True)
class OrderedMemory:
    """Memory that an order describes; uploads lie in `body`."""

    order: RunOrder
    body: bytes

    def fresh(self) -> list[Allocation]:
        """Return new memory. Raises `Failure`."""
        return fresh_memory(self.order, self.body)

    def filled(self) -> list[Array]:
        """Return a mask for each allocation: the elements with initial contents."""
        return filled(self.order.allocations, self.order.arguments)
