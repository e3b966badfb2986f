"""Finds kernels whose programs may access an element twice, and loops that load ahead of a store.

Conservative on purpose, except that pointers which are loaded from memory are not followed.
"""

from collections.abc import Iterator

from compiler.lines.pipelined_load import PipelinedLoad
from compiler.ttir_to_numpy.batched.computed_from import ComputedFrom
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import Operation, Value, inside

_WRITES = frozenset(
    {
        "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store", "tt.descriptor_store",
        "tt.descriptor_reduce", "tt.descriptor_scatter", "tt.experimental_descriptor_store",
    }
)  # fmt: skip
_READS = frozenset(
    {
        "tt.load", "tt.atomic_load", "tt.atomic_poll", "tt.descriptor_load",
        "tt.descriptor_gather", "tt.experimental_descriptor_load",
    }
)  # fmt: skip
_LOOPS = frozenset({"scf.for", "scf.while"})
_KEPT_IN_ORDER = frozenset({"ttg.barrier", "gpu.barrier", "tt.print"})
"""Operations in a loop that keep Triton from pipelining it; launches on a GPU have no asserts."""
_STAGES = "tt.num_stages"


class RepeatedAccesses:
    """The accesses of a kernel by the argument that they may reach."""

    def __init__(self, reachable: Reachable, entry: Operation) -> None:
        self._loops: dict[Operation, frozenset[Operation]] = {}
        for function in reachable.operations:
            self._note(function, frozenset())
        every = [o for operations in reachable.operations.values() for o in operations]
        accesses = [o for o in every if o.name in _WRITES | _READS]
        self._entry = set(reachable.operations[entry])
        flow = ComputedFrom(reachable)
        self._of_arguments: list[list[Operation]] = []
        for argument in entry.regions[0][0].arguments:
            if _is_pointer(argument):
                known = flow.reached([argument], _is_pointer)
                touching = [o for o in accesses if o.operands[0] in known]
                self._of_arguments.append(touching)

    def may_repeat(self) -> bool:
        """Return True if a program may access an element again after it wrote it."""
        return any(
            self._comes_after(again, write)
            for accesses in self._of_arguments
            for write in accesses
            if write.name in _WRITES
            for again in accesses
        )

    def pipelined(self) -> dict[int, PipelinedLoad]:
        """Return the loads that Triton may issue before stores of the same loop, by number."""
        loads: dict[int, PipelinedLoad] = {}
        for accesses in self._of_arguments:
            for load in accesses:
                loop = self._pipelined_loop(load)
                if loop is None:
                    continue
                stores = {
                    o.number for o in accesses if o.name in _WRITES and loop in self._loops[o]
                }
                if stores:
                    known = loads.get(load.number)
                    stores |= known.stores if known is not None else set()
                    stages = loop.integer(_STAGES)
                    loads[load.number] = PipelinedLoad(loop.number, stages, frozenset(stores))
        return loads

    def _pipelined_loop(self, load: Operation) -> Operation | None:
        """Return the loop if a load is directly in one that asks for more than one stage."""
        if load.name != "tt.load" or not load.results[0].type.startswith("tensor"):
            return None
        for loop in self._loops[load]:
            body = [o for block in loop.regions[0] for o in block.operations]
            if loop.name == "scf.for" and load in body and loop.integer(_STAGES, 1) > 1:
                kept = any(o.name in _KEPT_IN_ORDER | _LOOPS for o in inside(loop))
                return None if kept else loop
        return None

    def _comes_after(self, again: Operation, write: Operation) -> bool:
        if again.name.startswith("tt.atomic") and write.name.startswith("tt.atomic"):
            return False
        if self._entry.issuperset({again, write}):
            is_later = again.number > write.number
            return is_later or not self._loops[write].isdisjoint(self._loops[again])
        return again is not write or bool(self._loops[write])

    def _note(self, operation: Operation, loops: frozenset[Operation]) -> None:
        for inner in _directly_inside(operation):
            self._loops[inner] = loops
            if inner.regions:
                self._note(inner, loops | {inner} if inner.name in _LOOPS else loops)


def _directly_inside(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        for block in region:
            yield from block.operations


def _is_pointer(value: Value) -> bool:
    return "!tt.ptr" in value.type or "tensordesc" in value.type
