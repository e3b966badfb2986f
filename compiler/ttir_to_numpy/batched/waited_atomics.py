"""Finds the atomic operations whose old value the kernel waits for or decides by.

Only these order their program after another one: a program that goes on alike whatever it read
may just as well have come first.
"""

from compiler.ttir_to_numpy.batched.computed_from import ComputedFrom, decisions
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.ir import Operation

_READING = frozenset({"tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load"})
_POLL = "tt.atomic_poll"


def waited_atomics(reachable: Reachable) -> frozenset[Operation]:
    """Return the atomics whose value decides a branch, a loop, a mask or an address."""
    every = [o for operations in reachable.operations.values() for o in operations]
    found = {operation for operation in every if operation.name == _POLL}
    reading = [operation for operation in every if operation.name in _READING]
    if not reading:
        return frozenset(found)
    flow, deciding = ComputedFrom(reachable), set(decisions(every))
    for operation in reading:
        if not deciding.isdisjoint(flow.reached(operation.results)):
            found.add(operation)
    return frozenset(found)
