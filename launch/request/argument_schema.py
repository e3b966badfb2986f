"""The forms that an argument of a launch may have in a request: only fields and their bounds.

`argument_binding` checks their meaning, and that they fit together.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, WithJsonSchema
from typing_extensions import TypeAliasType

from compiler.request.compile_request import Json, Name
from compiler.request.signature import MAX_PARAMETERS
from launch.request.element import ELEMENT_SCHEMA
from launch.request.initializer import Initializer
from launch.request.request_part import ReadLater, RequestPart

MAX_RANK = 8
MAX_ALIGN_BYTES = 4096
MAX_TUPLE_ITEMS = 256
MAX_ARGUMENTS = 10_000
"""Limit of all cases together, including items of tuples."""

Index = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Extent = Annotated[int, Field(ge=0, le=2**63 - 1)]
Shape = Annotated[list[Extent], Field(max_length=MAX_RANK)]
Strides = Annotated[list[Index], Field(max_length=MAX_RANK)]


def _tagged(kind: str, *types: str, examples: list[str]) -> WithJsonSchema:
    """Return the schema of a number that JSON cannot express, under its only member `kind`."""
    return WithJsonSchema(
        {
            "title": f"Tagged{kind.capitalize()}",
            "type": "object",
            "description": "a number that JSON cannot express",
            "properties": {kind: {"type": list(types), "examples": examples}},
            "required": [kind],
            "additionalProperties": False,
        }
    )


TaggedInt = TypeAliasType(
    "TaggedInt",
    Annotated[Json, _tagged("int", "integer", "string", examples=["9223372036854775807"])],
)
TaggedFloat = TypeAliasType(
    "TaggedFloat",
    Annotated[Json, _tagged("float", "number", "string", examples=["-inf", "0x1.8p+1"])],
)
TaggedNumber = TaggedInt | TaggedFloat


class BufferArgument(RequestPart):
    """A new buffer; strides and offset in elements."""

    shape: Shape
    dtype: str = Field(max_length=64)
    strides: Strides | None = None
    offset: Extent = 0
    align_bytes: int | None = Field(default=None, ge=1, le=MAX_ALIGN_BYTES)
    init: Annotated[Json, ReadLater(lambda: Initializer)] = None
    output: bool = False


class ViewArgument(RequestPart):
    """Another view of the memory of the argument `of`; `offset` counts from its first element."""

    of: str = Field(min_length=1, max_length=256)
    shape: Shape | None = None
    strides: Strides | None = None
    offset: Index = 0


class WrappedView(RequestPart):
    """The object around a view."""

    view: Annotated[Json, ReadLater(lambda: ViewArgument)]


class DescriptorArgument(RequestPart):
    """A host tensor descriptor over a buffer or view."""

    base: Annotated[Json, ReadLater(lambda: BufferArgument | WrappedView)]
    block_shape: Annotated[list[Extent], Field(max_length=MAX_RANK)]
    padding: Literal["zero", "nan"] = "zero"


class WrappedDescriptor(RequestPart):
    """The object around a descriptor."""

    descriptor: Annotated[Json, ReadLater(lambda: DescriptorArgument)]


class ScalarArgument(RequestPart):
    """A scalar with a dtype or value that a plain JSON number cannot express; null is None."""

    value: Annotated[Json, ReadLater(lambda: ScalarValue)]
    dtype: str | None = Field(default=None, max_length=64)


class WrappedTuple(RequestPart):
    """The object around the items of a tuple."""

    items: list[Json] = Field(alias="tuple", max_length=MAX_TUPLE_ITEMS)


class BufferChange(BufferArgument):
    """The changes of a case to a buffer: without shape or dtype, its given fields."""

    model_config = ConfigDict(json_schema_extra=lambda schema: schema.pop("required", None))


ScalarValue = Annotated[Json, WithJsonSchema(ELEMENT_SCHEMA)] | TaggedNumber | None
_Leaf = (
    bool
    | int
    | float
    | None
    | TaggedNumber
    | ScalarArgument
    | BufferArgument
    | WrappedView
    | WrappedDescriptor
)
_Items = Annotated[list[Json], Field(title="ListOfArguments", max_length=MAX_ARGUMENTS)]
TupleItem = TypeAliasType("TupleItem", _Leaf | WrappedTuple | _Items)


class TupleOfArguments(WrappedTuple):
    """The object around the items of a tuple, each an argument itself."""

    items: list[TupleItem] = Field(alias="tuple", max_length=MAX_TUPLE_ITEMS)


RequestArgument = TypeAliasType("RequestArgument", _Leaf | TupleOfArguments | _Items)
"""One argument, in any of the forms that a request may use.

Tuples within tuples have items of any JSON in the schema: generators of clients read no type that
holds itself.
"""

_BY_NAME, _IN_ORDER = Field(title="ArgumentsByName"), Field(title="ArgumentsInOrder")
RequestArguments = Annotated[
    Annotated[dict[Name, RequestArgument], _BY_NAME] | Annotated[list[RequestArgument], _IN_ORDER],
    Field(max_length=MAX_PARAMETERS),
]
ChangedArguments = Annotated[
    Annotated[dict[Name, RequestArgument | BufferChange], _BY_NAME]
    | Annotated[list[RequestArgument | BufferChange], _IN_ORDER],
    Field(max_length=MAX_PARAMETERS),
]
