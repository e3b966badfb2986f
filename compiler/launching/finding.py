"""What is found wrong while a kernel runs, in words that a learner understands.

A finding is a plain dict with every documented field, `None` where it has no value.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from compiler.excerpt import KERNEL_FOLDER
from compiler.launching.addresses import Slot
from compiler.launching.buffers import Leaf
from compiler.launching.dtypes import stored

Finding = dict[str, Any]


class Access(StrEnum):
    """What a kernel does at an address."""

    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"

    @property
    def direction(self) -> str:
        """The field `access` of a finding."""
        return "read" if self is Access.LOAD else "write"


_DOES = {Access.LOAD: "reads", Access.STORE: "writes", Access.ATOMIC: "atomically updates"}
_CALL = {Access.LOAD: "tl.load", Access.STORE: "tl.store", Access.ATOMIC: "the atomic operation"}


@dataclass(frozen=True)
class Place:
    """Where a kernel is: the user's file and line, and the program."""

    file: str | None
    line: int | None
    program: tuple[int, int, int]


class Stopped(BaseException):
    """Ends a launch at a finding. Not an `Exception`, so that no kernel can catch it."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding["message"])
        self.finding = finding


def index_of(element: int, leaf: Leaf) -> list[int]:
    """Return the index in an argument's shape of an `element` of its allocation.

    Outside of the argument the outermost index is beyond its extent, or negative. Where no index
    fits, the argument being a view with gaps, the element's own number is the only index.
    """
    index = [0] * len(leaf.shape)
    left = element - leaf.offset
    wide = [axis for axis, extent in enumerate(leaf.shape) if extent > 1]
    axes = sorted(wide, key=lambda axis: -leaf.strides[axis]) or [len(leaf.shape) - 1]
    for position, axis in enumerate(axes):
        stride = leaf.strides[axis] if leaf.shape and leaf.shape[axis] > 1 else 1
        if stride <= 0 or not leaf.shape:
            return [element]
        index[axis], left = divmod(left, stride)
        if position and index[axis] >= leaf.shape[axis]:
            return [element]
    return [element] if left else index


def out_of_bounds(access: Access, slot: Slot, address: int, lanes: int, place: Place) -> Finding:
    """Return the finding of an access outside of its argument's memory, by `lanes` lanes in all."""
    leaf, size = slot.leaf, stored(slot.leaf.dtype).itemsize
    element = (address - slot.first) // size
    index = index_of(element, leaf)
    held = (slot.end - slot.first) // size
    if element < 0:
        where = f"{_elements(-element)} before its start"
    else:
        where = f"{_elements(element - held + 1)} past its end"
    message = (
        f"program {place.program} {_DOES[access]} {_subscript(leaf.name, index)}, {where}: "
        f"{_extent(leaf, held)}.{_also(lanes)} Give {_CALL[access]} a mask that leaves out "
        "offsets outside of the data, such as mask=offsets < n_elements."
    )
    return _finding("out_of_bounds", place, message, access, leaf.name, index)


def nobodys(access: Access, address: int, lanes: int, place: Place) -> Finding:
    """Return the finding of an access at an address that is no argument's."""
    message = (
        f"program {place.program} {_DOES[access]} address {address:#x}, which belongs to no "
        f"argument: the pointer was made from something else, or its offset overflowed."
        f"{_also(lanes)}"
    )
    return _finding("out_of_bounds", place, message, access)


def misaligned(access: Access, slot: Slot, address: int, size: int, place: Place) -> Finding:
    """Return the finding of an access that is not at a multiple of its own size in bytes."""
    offset = address - slot.first
    name = slot.leaf.name
    message = (
        f"program {place.program} {_DOES[access]} {size} bytes at byte {offset} of {name}, which "
        f"is not a multiple of {size}: the pointer was cast or moved by bytes."
    )
    index = index_of(offset // stored(slot.leaf.dtype).itemsize, slot.leaf)
    return _finding("misaligned_access", place, message, access, name, index)


def uninitialized(slot: Slot, address: int, place: Place) -> Finding:
    """Return the finding of a load from memory that nothing was written to."""
    leaf = slot.leaf
    index = index_of((address - slot.first) // stored(leaf.dtype).itemsize, leaf)
    message = (
        f"program {place.program} reads {_subscript(leaf.name, index)} before anything was written "
        "there: the buffer has no `init`, and no store has reached that element."
    )
    return _finding("uninitialized", place, message, Access.LOAD, leaf.name, index)


def assertion_failed(words: str, place: Place) -> Finding:
    """Return the finding of a `tl.device_assert` or `tl.assume` that does not hold."""
    return _finding("assertion_failed", place, f"program {place.program}: {words}")


def _finding(
    kind: str,
    place: Place,
    message: str,
    access: Access | None = None,
    argument: str | None = None,
    index: Sequence[int] | None = None,
) -> Finding:
    text = ""
    if place.file is not None and place.line is not None:
        text = linecache.getline(KERNEL_FOLDER + place.file, place.line).rstrip("\n")
    return {
        "kind": kind,
        "access": access.direction if access is not None else None,
        "argument": argument,
        "index": list(index) if index is not None else None,
        "file": place.file,
        "line": place.line,
        "program": list(place.program),
        "message": message,
        "excerpt": text or None,
    }


def _subscript(name: str, index: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, index))}]"


def _elements(count: int) -> str:
    return "1 element" if count == 1 else f"{count} elements"


def _extent(leaf: Leaf, held: int) -> str:
    if len(leaf.shape) > 1 and math.prod(leaf.shape) == held:
        return f"its shape is {list(leaf.shape)}"
    return f"it has {_elements(held)}"


def _also(lanes: int) -> str:
    return f" {lanes} lanes of the block do so." if lanes > 1 else ""
