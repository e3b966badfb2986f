"""Follows values through a kernel: operations, loops, branches and calls.

It over-approximates: a value may come from more here than at run time, never from less, except
through memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value

_DECIDING = frozenset({"scf.if", "scf.condition", "cf.cond_br"})
"""Operations whose first operand decides which operations come next."""
_ADDRESS_ONLY = frozenset({"tt.load", "tt.atomic_load", "tt.atomic_poll"})
_STORED_AT = {
    "tt.store": (1,), "tt.atomic_rmw": (1,), "tt.atomic_cas": (1, 2), "tt.atomic_store": (1,),
    "tt.descriptor_store": (1,), "tt.descriptor_reduce": (1,), "tt.descriptor_scatter": (3,),
    "tt.experimental_descriptor_store": (1,),
}  # fmt: skip
"""The positions of operands that are stored; the others are addresses and masks."""
_DESCRIPTOR_READS = frozenset(
    {"tt.descriptor_load", "tt.descriptor_gather", "tt.experimental_descriptor_load"}
)
_SEGMENTS = "operandSegmentSizes"
_READING = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load"})
_POLL = "tt.atomic_poll"


class ComputedFrom:
    """The values of all functions that a kernel reaches, each with those computed from it."""

    def __init__(self, reachable: Reachable) -> None:
        self._reachable = reachable
        self._next: dict[Value, list[Value]] = {}
        for function, operations in reachable.operations.items():
            for operation in operations:
                self._add(operation)
            self._add_branches(function.regions[0])

    def reached(
        self, sources: Iterable[Value], only: Callable[[Value], bool] | None = None
    ) -> set[Value]:
        """Return the values that are computed from `sources`, and these.

        With `only`, values for which it does not hold are left out, and what is computed from them.
        """
        values = set(sources)
        pending = list(values)
        while pending:
            for value in self._next.get(pending.pop(), ()):
                if value not in values and (only is None or only(value)):
                    values.add(value)
                    pending.append(value)
        return values

    def _connect(self, sources: Iterable[Value], targets: Collection[Value]) -> None:
        for source in sources:
            self._next.setdefault(source, []).extend(targets)

    def _pairs(self, sources: Iterable[Value], targets: Iterable[Value]) -> None:
        for source, target in zip(sources, targets, strict=False):
            self._connect([source], [target])

    def _add(self, operation: Operation) -> None:
        name, operands, results = operation.name, operation.operands, operation.results
        match name:
            case "scf.for":
                [block] = operation.regions[0]
                number, *carried = block.arguments
                self._connect(operands[:3], [number, *carried, *results])
                for sources in (operands[3:], block.end.operands):
                    self._pairs(sources, carried)
                    self._pairs(sources, results)
            case "scf.while":
                [before], [after] = operation.regions
                self._pairs(operands, before.arguments)
                self._pairs(after.end.operands, before.arguments)
                decided, *values = before.end.operands
                self._pairs(values, after.arguments)
                self._pairs(values, results)
                self._connect([decided], results)
            case "scf.if" | "scf.execute_region":
                for region in operation.regions:
                    for block in region:
                        self._pairs(block.end.operands, results)
                self._connect(operands, results)
            case "tt.call":
                self._add_call(operation)
            case _:
                if results:
                    self._connect(operands, results)
                for inner in _region_arguments(operation):
                    self._connect(operands, [inner])

    def _add_call(self, operation: Operation) -> None:
        called = self._reachable.called(operation)
        if called is None:
            self._connect(operation.operands, operation.results)
            return
        self._pairs(operation.operands, called.regions[0][0].arguments)
        for inner in self._reachable.operations[called]:
            if inner.name == "tt.return":
                self._pairs(inner.operands, operation.results)

    def _add_branches(self, blocks: Collection[IrBlock]) -> None:
        labels = {block.label: block for block in blocks}
        for block in blocks:
            for label, values in block.end.successors:
                target = labels.get(label)
                if target is not None:
                    self._pairs(values, target.arguments)
                    self._connect(block.end.operands[:1], target.arguments)


def decisions(operations: Iterable[Operation]) -> Iterator[Value]:
    """Yield the values that decide a branch, a loop, a mask or an address."""
    for operation in operations:
        name, operands = operation.name, operation.operands
        if name in _DECIDING:
            yield operands[0]
        elif name == "scf.for":
            yield from operands[:3]
        elif name in _ADDRESS_ONLY:
            sizes = operation.integers(_SEGMENTS)
            yield from operands[: sum(sizes[:2])] if sizes else operands
        elif name in _DESCRIPTOR_READS:
            yield from operands
        elif name in _STORED_AT:
            stored = _STORED_AT[name]
            yield from (value for at, value in enumerate(operands) if at not in stored)


def _region_arguments(operation: Operation) -> Iterator[Value]:
    for region in operation.regions:
        for block in region:
            yield from block.arguments


# The atomic operations whose old value the kernel waits for or decides by.
#
# Only these order their program after another one: a program that goes on alike whatever it read
# may just as well have come first.


def waited_atomics(reachable: Reachable) -> frozenset[Operation]:
    """Return the atomics whose value decides a branch, a loop, a mask or an address."""
    every = [o for operations in reachable.operations.values() for o in operations]
    atomics = {operation for operation in every if operation.name == _POLL}
    reading = [operation for operation in every if operation.name in _READING]
    if not reading:
        return frozenset(atomics)
    flow, deciding = ComputedFrom(reachable), set(decisions(every))
    for operation in reading:
        if not deciding.isdisjoint(flow.reached(operation.results)):
            atomics.add(operation)
    return frozenset(atomics)
