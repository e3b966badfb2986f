"""How one argument of a launch is written in a request: shape and bounds of its fields only.

How any part of a launch request is read: strictly, and a null is as good as a field left out.

Faults of nested parts of a request, said with pointers from the root of the body.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from compiler.rejection import Fault, RequestRejected, did_you_mean, pointer


class RequestPart(BaseModel):
    """Base of the parts of a request; unknown fields and numbers as text are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}


_Model = TypeVar("_Model", bound=BaseModel)


def read(model: type[_Model], data: Any, at: str) -> _Model:
    """Return `data`, found at pointer `at`, as `model`.

    Raises RequestRejected with every field that does not fit.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RequestRejected(*_faults(error, model, at)) from None


def _faults(error: ValidationError, model: type[BaseModel], at: str) -> Iterator[Fault]:
    names = [field.alias or name for name, field in model.model_fields.items()]
    for item in error.errors(include_url=False, include_input=False):
        message = item["msg"]
        if item["type"] == "extra_forbidden":
            message = f"unknown field.{did_you_mean(str(item['loc'][-1]), names)}"
        elif item["type"] == "model_type":
            message = "must be a JSON object"
        elif item["type"] == "missing":
            message = "this field is needed"
        yield Fault(at + pointer(*item["loc"]), message)


@contextmanager
def below(at: str) -> Iterator[None]:
    """Extend the pointers of a rejection in the block: they begin at `at`, not at the root."""
    try:
        yield
    except RequestRejected as rejected:
        moved = (Fault(at + fault.pointer, fault.message) for fault in rejected.faults)
        raise type(rejected)(*moved) from None


MAX_RANK = 8
MAX_ALIGN_BYTES = 4096

Index = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Extent = Annotated[int, Field(ge=0, le=2**63 - 1)]
Shape = Annotated[list[Extent], Field(max_length=MAX_RANK)]
Strides = Annotated[list[Index], Field(max_length=MAX_RANK)]


class BufferArgument(RequestPart):
    """A buffer of its own; strides and offset in elements."""

    shape: Shape
    dtype: str = Field(max_length=64)
    strides: Strides | None = None
    offset: Extent = 0
    align_bytes: int | None = Field(default=None, ge=1, le=MAX_ALIGN_BYTES)
    init: JsonValue = None
    output: bool = False


class ViewArgument(RequestPart):
    """Another look at the memory of the argument `of`; `offset` counts from its first element."""

    of: str = Field(min_length=1, max_length=256)
    shape: Shape | None = None
    strides: Strides | None = None
    offset: Index = 0


class DescriptorArgument(RequestPart):
    """A host tensor descriptor over a buffer or view."""

    base: JsonValue
    block_shape: Annotated[list[Extent], Field(max_length=MAX_RANK)]
    padding: Literal["zero", "nan"] = "zero"


class ScalarArgument(RequestPart):
    """A scalar whose dtype, or whose size, a bare JSON number cannot say."""

    value: JsonValue
    dtype: str | None = Field(default=None, max_length=64)


class Aliased(RequestPart):
    """The object around a view."""

    view: JsonValue


class Described(RequestPart):
    """The object around a descriptor."""

    descriptor: JsonValue


class Grouped(RequestPart):
    """The object around the items of a tuple."""

    items: list[JsonValue] = Field(alias="tuple", max_length=256)
