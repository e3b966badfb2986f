"""The CPU device's checked memory over NumPy arrays, which it changes in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.launching import dtype_named
from launch.buffers.allocation import Allocation, Leaf
from launch.checks.addresses import AddressSpace
from launch.checks.checked_memory import AccessChecker
from launch.checks.finding import KernelLocation
from launch.checks.modified_inputs import ModifiedInputs
from launch.checks.order_dependence import OrderDependence
from launch.checks.race_screen import OrderScreen, RaceScreen
from launch.checks.written_memory import WrittenBytes, WrittenElements
from launch.cpu.locator import Locator
from launch.cpu.memory import ProgramMemory
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances


class ArrayMemory:
    """Contiguous arrays as arguments `x0`, `x1` and so on."""

    def __init__(self) -> None:
        self.allocations: list[Allocation] = []
        self.leaves: list[Leaf] = []
        self.space = AddressSpace(self.allocations)

    def pointer(self, array: Any, kind: str, *, output: bool = True) -> Pointer:
        """Return a pointer of Triton type `kind` to the first element of an array."""
        return self.view(array, kind, elements=array.size, output=output)

    def view(
        self, array: Any, kind: str, *, elements: int, first: int = 0, output: bool = True
    ) -> Pointer:
        """Return a pointer to `elements` elements of an array, starting at `first`."""
        number, name = len(self.allocations), f"x{len(self.allocations)}"
        self.allocations.append(Allocation(name, kind, output, array.reshape(-1)))
        shape = array.shape if elements == array.size else (elements,)
        steps = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        self.leaves.append(Leaf(name, shape, tuple(steps), first, number, kind, output))
        return Pointer(self.space.place(self.leaves[-1]), dtype_named(kind))

    def of(
        self,
        programs: ProgramInstances,
        *,
        written: WrittenElements | None = None,
        written_bytes: WrittenBytes | None = None,
        races: RaceScreen | None = None,
    ) -> ProgramMemory:
        """Return the programs' memory; call it after all pointers exist."""
        access_checker = AccessChecker(
            self.space, self.allocations, lambda: KernelLocation(None, None, (0, 0, 0))
        )
        nothing = WrittenElements([], [])
        suspicion = OrderScreen(
            ModifiedInputs(self.allocations),
            written or nothing,
            written_bytes,
            races or OrderDependence(self.allocations),
        )
        return ProgramMemory(
            programs, Locator(self.space, self.allocations), access_checker, suspicion
        )
