"""The axes of the grid that the address of a store or an atomic operation depends on."""

from collections.abc import Mapping
from functools import cached_property

from compiler.ttir_to_numpy.batched.computed_from import ComputedFrom
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import Operation, Value

_AXES = 3
_WRITES = frozenset({"tt.store", "tt.atomic_rmw", "tt.atomic_cas"})


class ProgramAxes:
    """Looked at when asked for; operations have numbers."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable

    def ignored(self, number: int) -> frozenset[int]:
        """Return the axes that the address of a write does not depend on, nothing for others."""
        operation = self._operations.get(number)
        if operation is None or operation.name not in _WRITES:
            return frozenset()
        address = operation.operands[0]
        return frozenset(axis for axis in range(_AXES) if address not in self._computed_from[axis])

    @cached_property
    def _operations(self) -> Mapping[int, Operation]:
        every = (o for operations in self._reachable.operations.values() for o in operations)
        return {o.number: o for o in every if o.number >= 0}

    @cached_property
    def _computed_from(self) -> list[set[Value]]:
        """The values that are computed from the program's number, for each axis."""
        flow = ComputedFrom(self._reachable)
        every = [o for o in self._operations.values() if o.name == "tt.get_program_id"]
        return [
            flow.reached(o.results[0] for o in every if o.integer("axis") == axis)
            for axis in range(_AXES)
        ]
