"""The functions that a kernel calls: whether its programs may run at once, how large tiles are."""

import math
from collections.abc import Iterator
from functools import cached_property

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.batched.blocks import in_order
from compiler.ttir_to_numpy.functions import Functions
from compiler.ttir_to_numpy.ir import Operation, inside

_ACCESSES = frozenset(
    {
        "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_store", "tt.descriptor_load",
        "tt.descriptor_store", "tt.descriptor_reduce", "tt.descriptor_gather",
        "tt.descriptor_scatter",
        "tt.experimental_descriptor_load", "tt.experimental_descriptor_store", "tt.atomic_load",
    }
)  # fmt: skip
_ORDERED = frozenset({"tt.atomic_cas", "tt.atomic_load", "tt.atomic_poll", "tt.print"})
ATOMICS = frozenset(
    {"tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_poll", "tt.atomic_store"}
)
_REGIONS = frozenset({"tt.reduce", "tt.scan", "tt.map_elementwise"})


class Reachable:
    """The functions that a kernel calls, itself among them; none calls itself."""

    def __init__(self, functions: Functions, entry: Operation) -> None:
        self._functions = functions
        self.operations: dict[Operation, list[Operation]] = {}
        pending = [entry]
        while pending:
            function = pending.pop()
            if function not in self.operations:
                self.operations[function] = list(inside(function))
                pending += self._called(self.operations[function])
        self.callers_first = self._in_order()

    def is_batchable(self) -> bool:
        """Return whether programs may do each operation together without a difference.

        There is one if a program waits for another, or reads an old value.
        """
        for function, operations in self.operations.items():
            if in_order(function.regions[0]) is None:
                return False
            used = {value for operation in operations for value in operation.operands}
            for operation in operations:
                name = operation.name
                if name in _ORDERED:
                    return False
                if name == "tt.atomic_rmw" and not used.isdisjoint(operation.results):
                    return False
                if (name == "scf.while" or name in _REGIONS) and self._touches(operation):
                    return False
        return True

    def prints(self) -> bool:
        """Return whether it contains a `tl.device_print`."""
        return any(o.name == "tt.print" for every in self.operations.values() for o in every)

    def has_atomics(self) -> bool:
        """Return whether it contains an atomic operation on pointers."""
        return any(o.name in ATOMICS for every in self.operations.values() for o in every)

    def largest_tile(self) -> int:
        """Return how many elements the largest tensor has."""
        every = (o for operations in self.operations.values() for o in operations)
        types = {value.type for operation in every for value in operation.results}
        return max((math.prod(mlir_types.shape_of(type_)) for type_ in types), default=1)

    def inside_regions(self) -> set[Operation]:
        """Return the functions that regions of reductions, scans and maps call, or these call."""
        functions = set[Operation]()
        pending: list[Operation] = []
        for operations in self.operations.values():
            for operation in operations:
                if operation.name in _REGIONS:
                    pending += self._called(list(inside(operation)))
        while pending:
            function = pending.pop()
            if function not in functions:
                functions.add(function)
                pending += self._called(self.operations[function])
        return functions

    def called(self, operation: Operation) -> Operation | None:
        """Return the function that a `tt.call` calls; None where there is none, or no body."""
        return self._functions.called(operation.attributes["callee"])

    def _in_order(self) -> list[Operation]:
        """Return the functions, each after all that call it."""
        callers: dict[Operation, list[Operation]] = {f: [] for f in self.operations}
        waits: dict[Operation, int] = {}
        for function, operations in self.operations.items():
            called = set(self._called(operations))
            waits[function] = len(called)
            for other in called:
                callers[other].append(function)
        free = [function for function, count in waits.items() if not count]
        for function in free:
            for caller in callers[function]:
                waits[caller] -= 1
                if not waits[caller]:
                    free.append(caller)
        return free[::-1]

    def _called(self, operations: list[Operation]) -> Iterator[Operation]:
        for operation in operations:
            function = self.called(operation) if operation.name == "tt.call" else None
            if function is not None:
                yield function

    @cached_property
    def _touching(self) -> set[Operation]:
        """The functions that access memory, themselves or in their callees."""
        functions = set[Operation]()
        for function in reversed(self.callers_first):
            operations = self.operations[function]
            if any(o.name in _ACCESSES for o in operations) or not functions.isdisjoint(
                self._called(operations)
            ):
                functions.add(function)
        return functions

    def _touches(self, operation: Operation) -> bool:
        """Return whether memory is accessed inside of `operation`, or in its callees."""
        operations = list(inside(operation))
        return any(inner.name in _ACCESSES for inner in operations) or not (
            self._touching.isdisjoint(self._called(operations))
        )
