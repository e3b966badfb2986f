"""How one argument of a launch is written in a request: shape and bounds of its fields only."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from compiler.launch.written import Written

MAX_RANK = 8
MAX_ALIGN_BYTES = 4096

Index = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Extent = Annotated[int, Field(ge=0, le=2**63 - 1)]
Shape = Annotated[list[Extent], Field(max_length=MAX_RANK)]
Strides = Annotated[list[Index], Field(max_length=MAX_RANK)]


class WrittenBuffer(Written):
    """A buffer of its own; strides and offset in elements."""

    shape: Shape
    dtype: str = Field(max_length=64)
    strides: Strides | None = None
    offset: Extent = 0
    align_bytes: int | None = Field(default=None, ge=1, le=MAX_ALIGN_BYTES)
    init: JsonValue = None
    output: bool = False


class WrittenView(Written):
    """Another look at the memory of the argument `of`; `offset` counts from its first element."""

    of: str = Field(min_length=1, max_length=256)
    shape: Shape | None = None
    strides: Strides | None = None
    offset: Index = 0


class WrittenDescriptor(Written):
    """A host tensor descriptor over a buffer or view."""

    base: JsonValue
    block_shape: Annotated[list[Extent], Field(max_length=MAX_RANK)]
    padding: Literal["zero", "nan"] = "zero"


class WrittenScalar(Written):
    """A scalar whose dtype, or whose size, a bare JSON number cannot say."""

    value: JsonValue
    dtype: str | None = Field(default=None, max_length=64)


class Aliased(Written):
    """The object around a view."""

    view: JsonValue


class Described(Written):
    """The object around a descriptor."""

    descriptor: JsonValue


class Grouped(Written):
    """The object around the items of a tuple."""

    items: list[JsonValue] = Field(alias="tuple", max_length=256)
