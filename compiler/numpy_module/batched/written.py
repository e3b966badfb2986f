"""Which parameters of a kernel its stores and atomic operations may reach.

Pointers that may come to be one another are taken for one: what only may be written counts, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.numpy_module.batched.reachable import Reachable
from compiler.numpy_module.ir import Operation, Value

_WRITES = frozenset(
    {
        "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store", "tt.descriptor_store",
        "tt.descriptor_reduce", "tt.descriptor_scatter", "tt.experimental_descriptor_store",
    }
)  # fmt: skip
_FROM_NUMBERS = "tt.int_to_ptr"
_POINTING = ("!tt.ptr", "!tt.tensordesc")
_READS = frozenset({"tt.load", "tt.descriptor_load", "tt.descriptor_gather"})


def written_parameters(reachable: Reachable, entry: Operation) -> frozenset[int]:
    """Return the positions of the parameters of `entry` that something may be written to."""
    pointers = _Pointers()
    written: list[Value] = []
    for function, operations in reachable.operations.items():
        for operation in operations:
            if operation.name == _FROM_NUMBERS:  # whose they are, nobody knows
                return frozenset(range(len(_parameters(entry))))
            if operation.name in _WRITES:
                written += _pointing(operation.operands[:1])
            elif operation.name == "tt.call":
                _follow_call(pointers, reachable, operation)
            elif operation.name == "tt.return":
                pointers.meet([*_pointing(operation.operands), *_returned(pointers, function)])
            elif operation.successors:
                _follow_branch(pointers, function, operation)
            elif operation.name not in _READS:
                pointers.meet(_touched(operation))
    roots = {pointers.root(value) for value in written}
    every = enumerate(_parameters(entry))
    return frozenset(number for number, value in every if pointers.root(value) in roots)


class _Pointers:
    """Sets of pointers, those in one of which may be one another."""

    def __init__(self) -> None:
        self._parents: dict[Value, Value] = {}
        self.returned: dict[Operation, Value] = {}
        """What stands for all pointers that a function returns."""

    def root(self, value: Value) -> Value:
        """Return what stands for the set of `value`."""
        while (parent := self._parents.get(value, value)) is not value:
            self._parents[value] = value = self._parents.get(parent, parent)
        return value

    def meet(self, values: Sequence[Value]) -> None:
        """Make one set of the sets of `values`."""
        for value in values[1:]:
            self._parents[self.root(value)] = self.root(values[0])


def _returned(pointers: _Pointers, function: Operation) -> list[Value]:
    return [pointers.returned.setdefault(function, Value("returned"))]


def _follow_call(pointers: _Pointers, reachable: Reachable, call: Operation) -> None:
    called = reachable.called(call)
    if called is None:
        pointers.meet(_touched(call))
        return
    for given, taken in zip(call.operands, _parameters(called), strict=True):
        pointers.meet(_pointing([given, taken]))
    pointers.meet([*_pointing(call.results), *_returned(pointers, called)])


def _follow_branch(pointers: _Pointers, function: Operation, branch: Operation) -> None:
    """Take whatever a branch brings for whatever the blocks get that it goes to."""
    labels = {label for label, _ in branch.successors}
    found = list(branch.operands)
    for block in function.regions[0]:
        found += block.arguments if block.label in labels else []
    found += [value for _, values in branch.successors for value in values]
    pointers.meet(_pointing(found))


def _parameters(function: Operation) -> list[Value]:
    return function.regions[0][0].arguments


def _touched(operation: Operation) -> list[Value]:
    """Return the pointers that an operation takes, makes, and hands to its regions and back."""
    found = [*operation.operands, *operation.results]
    for block in (block for region in operation.regions for block in region):
        found += block.arguments
        found += [value for inner in block.operations[-1:] for value in inner.operands]
    return _pointing(found)


def _pointing(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if any(kind in value.type for kind in _POINTING)]
