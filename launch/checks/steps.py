"""The values that selected programs compute, in order, for stepping through a kernel on a page.

The numbers of values and elements are limited. Programs must run one at a time.
"""

from typing import Any

import numpy as np

from compiler.diagnostic import file_in_kernel
from compiler.json_number import written_number
from compiler.lines.step import Step
from launch.buffers.element_types import Array, stored
from launch.checks.addresses import AddressSpace
from launch.checks.finding import index_of

MAX_ELEMENTS = 500_000
"""The limit for all values together; a small value, or one of pointers, counts for more."""
_MIN_COUNTED, _POINTER_COUNTED = 16, 4
MAX_OF_ONE = 4096
"""Elements kept of one value: the first ones in row-major order."""
Program = tuple[int, int, int]


class Steps:
    """At most `most_steps` values, in the order of their computation."""

    def __init__(self, most_steps: int) -> None:
        self._most_steps = most_steps
        self._elements = 0
        self.made: list[dict[str, Any]] = []
        self.truncated = False

    def add(
        self, step: Step, lanes: Array, program: Program, space: AddressSpace, accesses: int
    ) -> None:
        """Record one value of `program`, with a leading axis of 1; pointers as addresses.

        `accesses` is the number of accesses traced so far, which gives both lists one order.
        """
        tile = np.broadcast_to(lanes[0], step.shape)
        shown = min(tile.size, MAX_OF_ONE)
        is_pointer = step.dtype.startswith("*")
        counted = max(shown * (_POINTER_COUNTED if is_pointer else 1), _MIN_COUNTED)
        if len(self.made) >= self._most_steps or self._elements + counted > MAX_ELEMENTS:
            self.truncated = True
            return
        self._elements += counted
        elements = tile.flat[:shown]
        self.made.append(
            {
                "step": len(self.made),
                "accesses": accesses,
                "program": list(program),
                "file": file_in_kernel(step.location.file) or step.location.file,
                "line": step.location.line,
                "column": step.location.column,
                "op": step.operation,
                "name": step.name or None,
                "dtype": step.dtype,
                "shape": list(step.shape),
                "values": _places(elements, space) if is_pointer else _numbers(elements),
                "truncated": shown < tile.size,
            }
        )


def _numbers(elements: Array) -> list[Any]:
    """Return elements as JSON values."""
    if elements.dtype.kind == "b":
        plain: list[Any] = elements.tolist()
        return plain
    wide = elements if elements.dtype.kind in "iu" else elements.astype(np.float64)
    return [written_number(number) for number in wide.tolist()]


def _places(addresses: Array, space: AddressSpace) -> list[Any]:
    """Return the argument and index that each pointer points to, None outside all arguments."""
    places: list[Any] = []
    for address in addresses.tolist():
        slot = space.slot_of(address)
        if slot is None:
            places.append(None)
            continue
        leaf = slot.leaf
        element = (address - slot.first) // stored(leaf.dtype).itemsize
        places.append({"argument": leaf.name, "index": index_of(element, leaf)})
    return places
