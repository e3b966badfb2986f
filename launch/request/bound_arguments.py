"""Bound arguments: the resolved arguments of a request, as devices receive them.

They serialize to plain JSON: allocations, and arguments that refer to them. Readers do not need
the request, and all create the same bytes from them.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.constexpr import Value
from launch.request.element import ITEM_BYTES


class _Bound(BaseModel):
    model_config = ConfigDict(frozen=True)


class BoundAllocation(_Bound):
    """One allocation. `init` None: poisoned. `body`: the position of uploaded bytes in a frame."""

    name: str = Field(description="the argument that owns it; items of tuples as pair.0")
    dtype: str
    elements: int
    align_bytes: int
    init: dict[str, Any] | None = Field(description="fills the buffer of the same name, in C order")
    output: bool
    body: tuple[int, int] | None = None

    @property
    def size_bytes(self) -> int:
        """The size of its elements in bytes."""
        return self.elements * ITEM_BYTES[self.dtype]


class Buffer(_Bound):
    """A pointer into an allocation; `strides` and `offset` in elements."""

    kind: Literal["buffer"] = "buffer"
    allocation: int
    shape: list[int]
    strides: list[int]
    offset: int
    dtype: str
    output: bool


class Scalar(_Bound):
    """A number or boolean; `dtype_given` when the request named the dtype."""

    kind: Literal["scalar"] = "scalar"
    value: Value
    dtype: str
    dtype_given: bool = False


class TupleArgument(_Bound):
    """A tuple of arguments."""

    kind: Literal["tuple"] = "tuple"
    items: "list[Argument]"


class Descriptor(_Bound):
    """A host tensor descriptor."""

    kind: Literal["descriptor"] = "descriptor"
    base: Buffer
    block_shape: list[int]
    padding: Literal["zero", "nan"] = "zero"


class NoValue(_Bound):
    """None: a null pointer if the kernel fixes a pointer type, else a constant."""

    kind: Literal["none"] = "none"


Argument = Annotated[
    Buffer | Scalar | TupleArgument | Descriptor | NoValue, Field(discriminator="kind")
]


class BoundArguments(_Bound):
    """The allocations of one run, and its arguments by name in the order of the request."""

    allocations: list[BoundAllocation] = Field(default_factory=list)
    arguments: dict[str, Argument] = Field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """The size of all allocations in bytes."""
        return sum(allocation.size_bytes for allocation in self.allocations)

    @cached_property
    def outputs(self) -> dict[str, Buffer]:
        """The buffers to compare and return, by name (items of tuples as pair.0)."""
        return dict(_outputs(self.arguments))

    def is_divisible_by_16(self, buffer: Buffer) -> bool:
        """Return True if the address of `buffer` is certainly a multiple of 16 bytes."""
        base = self.allocations[buffer.allocation]
        return base.align_bytes % 16 == 0 and buffer.offset * ITEM_BYTES[buffer.dtype] % 16 == 0


def _outputs(arguments: Mapping[str, Argument]) -> Iterator[tuple[str, Buffer]]:
    for name, argument in arguments.items():
        if isinstance(argument, TupleArgument):
            items = {f"{name}.{index}": item for index, item in enumerate(argument.items)}
            yield from _outputs(items)
        else:
            base = argument.base if isinstance(argument, Descriptor) else argument
            if isinstance(base, Buffer) and base.output:
                yield name, base
