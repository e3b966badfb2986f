"""The memory of a launch: allocations made from bound arguments, and arguments as views of them.

The same bound arguments always give the same bytes. The argument with an allocation's name fills it
in the argument's logical order, so that values do not depend on strides. Without such an argument,
values are in memory order. Elements out of the argument's reach, and allocations without `init`,
hold the poison. Uploads are parts of a frame's body, given by offset and size.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from launch.buffers import initial_values
from launch.buffers.element_types import Array, poisoned, stored

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def part(body: bytes, place: Sequence[int]) -> bytes:
    """Return the bytes at `[offset, size]` of `body`. Raises `ValueError` beyond its end."""
    return bytes(shared_part(body, place))


def shared_part(body: bytes | memoryview, place: Sequence[int]) -> memoryview:
    """Return the same bytes without a copy. Raises `ValueError` beyond the end of `body`."""
    offset, size = place
    if offset < 0 or size < 0 or offset + size > len(body):
        message = f"the body has {len(body)} bytes; offset {offset} and size {size} reach outside"
        raise ValueError(message)
    whole = memoryview(body) if isinstance(body, bytes) else body
    return whole[offset : offset + size]


Arguments = dict[str, Any]
"""Bound arguments by name, in canonical JSON form."""


class BadBuffer(ValueError):
    """A buffer reaches outside its allocation or has invalid values; the message explains how."""


@dataclass(frozen=True)
class Leaf:
    """A buffer among the arguments. Item 1 of a tuple `name` is called `name.1`."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements."""
    offset: int
    """In elements."""
    allocation: int
    dtype: str
    output: bool
    whole: bool = False
    """True if kernels may reach the whole allocation from it, as from a torch tensor's pointer."""

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)

    @property
    def is_contiguous(self) -> bool:
        """True if its elements are contiguous in C order."""
        steps = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        return list(self.strides) == steps

    def covers(self, elements: int) -> bool:
        """Return True if it covers an allocation of `elements` exactly, in C order."""
        return self.elements == elements and self.is_contiguous and not self.offset


@dataclass(frozen=True)
class Allocation:
    """One allocation; the kernel may change it if it is an `output`."""

    name: str
    dtype: str
    output: bool
    memory: Array
    """One-dimensional, of the stored dtype."""


def leaves(arguments: Arguments) -> Iterator[Leaf]:
    """Yield every buffer among the arguments, including those in tuples and descriptors."""
    for name, argument in arguments.items():
        yield from _leaves(name, argument)


def _leaves(name: str, argument: dict[str, Any]) -> Iterator[Leaf]:
    match argument["kind"]:
        case "buffer":
            yield leaf_of(name, argument)
        case "tuple":
            for position, item in enumerate(argument["items"]):
                yield from _leaves(f"{name}.{position}", item)
        case "descriptor":
            yield from _leaves(name, argument["base"])


def leaf_of(name: str, argument: dict[str, Any]) -> Leaf:
    """Return the leaf for an argument of kind `buffer`."""
    return Leaf(
        name,
        tuple(argument["shape"]),
        tuple(argument["strides"]),
        argument["offset"],
        argument["allocation"],
        argument["dtype"],
        bool(argument["output"]),
        bool(argument.get("whole", False)),
    )


def materialise(
    allocations: Sequence[dict[str, Any]], arguments: Arguments, body: bytes
) -> list[Allocation]:
    """Return the memory that bound arguments describe, with uploads from `body`.

    Raises `ValueError` for invalid descriptions, and `BadBuffer` for invalid values or reach.
    """
    all_leaves = list(leaves(arguments))
    layouts = {(leaf.allocation, leaf.name): leaf for leaf in all_leaves}
    written = {leaf.allocation for leaf in all_leaves if leaf.output}
    made = []
    for index, described in enumerate(allocations):
        layout = layouts.get((index, described["name"]))
        memory = memory_of(described, layout, body)
        output = bool(described["output"]) or index in written
        made.append(Allocation(described["name"], described["dtype"], output, memory))
    return made


def filled(allocations: Sequence[dict[str, Any]], arguments: Arguments) -> list[Array]:
    """Return a read-only mask for each allocation of the elements with initial contents."""
    layouts = {(leaf.allocation, leaf.name): leaf for leaf in leaves(arguments)}
    return [
        _filled(described, layouts.get((index, described["name"])))
        for index, described in enumerate(allocations)
    ]


def _filled(described: dict[str, Any], layout: Leaf | None) -> Array:
    count = described["elements"]
    if described["init"] is None or layout is None or layout.covers(count):
        return np.broadcast_to(np.bool_(described["init"] is not None), count)  # takes no memory
    elements = np.zeros(count, np.bool_)
    view(elements, layout)[...] = True
    return elements


def memory_of(described: Mapping[str, Any], layout: Leaf | None, body: bytes) -> Array:
    """Return the elements of an allocation, with poison where it has no initial values.

    `layout` is the argument of the same name, if there is one. Raises `BadBuffer`, `ValueError`.
    """
    count, kind = described["elements"], stored(described["dtype"])
    if described["init"] is None:
        return poisoned(count, kind)
    values = _values(described, layout, body)
    if (layout is None or layout.covers(count)) and values.flags.writeable:
        return values
    memory = poisoned(count, kind)
    if layout is None:
        memory[:] = values
    else:
        view(memory, layout)[...] = values.reshape(layout.shape)
    return memory


def _values(described: Mapping[str, Any], layout: Leaf | None, body: bytes) -> Array:
    """Return the initial elements in the order of their argument. Raises `BadBuffer`."""
    uploaded = part(body, described["body"]) if described.get("body") else b""
    count = layout.elements if layout is not None else described["elements"]
    try:
        return initial_values.elements(described["init"], count, described["dtype"], uploaded)
    except ValueError as error:
        message = f"{described['name']}: {error}"
        raise BadBuffer(message) from error


def view(memory: Array, layout: Leaf) -> Array:
    """Return the elements of an argument in its own shape, sharing `memory`. Raises `BadBuffer`."""
    _check_reach(memory, layout)
    if not layout.elements:
        return np.empty(layout.shape, memory.dtype)
    size = memory.itemsize
    return np.ndarray(
        layout.shape,
        memory.dtype,
        buffer=memory.view(np.uint8),  # NumPy exports no buffer for types of ml_dtypes
        offset=layout.offset * size,
        strides=tuple(stride * size for stride in layout.strides),
    )


def _check_reach(memory: Array, layout: Leaf) -> None:
    if len(layout.strides) != len(layout.shape) or any(extent < 0 for extent in layout.shape):
        message = f"{layout.name}: shape {layout.shape} does not fit strides {layout.strides}"
        raise BadBuffer(message)
    if not layout.elements:
        return
    steps = [
        (extent - 1) * stride for extent, stride in zip(layout.shape, layout.strides, strict=True)
    ]
    first = layout.offset + sum(step for step in steps if step < 0)
    last = layout.offset + sum(step for step in steps if step > 0)
    if first < 0 or last >= memory.size:
        message = (
            f"{layout.name}: reaches elements {first} to {last} of an allocation of {memory.size}"
        )
        raise BadBuffer(message)


def logical_bytes(memory: Array, layout: Leaf) -> bytes:
    """Return the elements of an argument in logical (C) order."""
    return np.ascontiguousarray(view(memory, layout)).tobytes()


# The key of an allocation's initial contents, a digest of everything that determines them.
#
# Equal keys mean equal bytes in any process at any time, so contents can be cached by key. Keys do
# not identify the owner, so each caller has a separate cache.


def content_key(described: Mapping[str, Any], layout: Leaf | None) -> str | None:
    """Return the key of an allocation's initial contents; `layout` is the buffer that fills it.

    Returns None for contents that must not be cached: poison, and uploads without a digest.
    """
    init = described["init"]
    if init is None or (
        init["kind"] == "tensor" and _DIGEST.fullmatch(str(init.get("digest"))) is None
    ):
        return None
    text = json.dumps(
        [
            *(init, described["dtype"], described["elements"]),
            None if layout is None else [layout.shape, layout.strides, layout.offset],
        ],
        sort_keys=True,
        separators=(",", ":"),
    )
    return hashlib.sha256(text.encode()).hexdigest()
