"""Where the operations of a function are, and which of two comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.ttir_to_numpy.blocks import reached_from
from compiler.ttir_to_numpy.ir import IrBlock, Operation

Step = tuple[int, int, int]
"""The numbers of a region in its operation, of a block in it, and of an operation in that."""
Place = tuple[Step, ...]
"""The way from a function to an operation in it, through those around it."""


class Places:
    """The operations of a function by their places, and their places by their numbers."""

    def __init__(self, function: Operation) -> None:
        self._function = function
        self.operations = dict(_inside(function, ()))
        self.of = {
            operation.number: place
            for place, operation in self.operations.items()
            if operation.number >= 0
        }

    def where_parted(self, a: Place, b: Place) -> Place | None:
        """Return the outermost operation that two runs, equal so far, do not do alike.

        One run is next at `a`, the other one at `b`. To be at a loop is to begin a turn of it. None
        where the two are in blocks of one region, neither of which comes before the other one.
        """
        shared = 0
        while shared < min(len(a), len(b)) and a[shared] == b[shared]:
            shared += 1
        if shared in (len(a), len(b)):  # one run begins another turn, one is still in its turn
            return max(a, b, key=len)[: shared + 1]
        if a[shared][:2] == b[shared][:2]:
            return min(a, b)[: shared + 1]
        if a[shared][0] == b[shared][0]:
            holder = self.operations[a[:shared]] if shared else self._function
            blocks = holder.regions[a[shared][0]]
            for first, other in ((a, b), (b, a)):
                if _always_leads(blocks, first[shared][1], other[shared][1]):
                    return first[: shared + 1]  # the other run passed it, and did nothing there
            return None
        if self.operations[a[:shared]].name == "scf.while":  # its second region ends a turn
            return max(a, b)[: shared + 1]
        return a[:shared]


def _inside(operation: Operation, around: Place) -> Iterator[tuple[Place, Operation]]:
    for region, blocks in enumerate(operation.regions):
        for block, inner_block in enumerate(blocks):
            for index, inner in enumerate(inner_block.operations):
                place = (*around, (region, block, index))
                yield place, inner
                yield from _inside(inner, place)


def _always_leads(blocks: Sequence[IrBlock], first: int, then: int) -> bool:
    """Return whether every way to a block goes through `first`, and none comes back to that."""
    by_label = {block.label: block for block in blocks}
    a, b = blocks[first], blocks[then]
    if any(a in reached_from(by_label[label], by_label) for label, _ in a.end.successors):
        return False
    ended = IrBlock(a.label, operations=[Operation("tt.return", [])])
    return a is blocks[0] or b not in reached_from(blocks[0], {**by_label, a.label: ended})
