"""Parses the parts of a launch request: strictly, with null equal to an omitted field.

Some parts are parsed later than the body around them, but its JSON schema describes them, too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from compiler.rejection import FieldError, RequestRejected
from compiler.request.field_bounds import check_bounds
from compiler.request.field_errors import field_errors


class RequestPart(BaseModel):
    """Base of the parts of a request; refuses unknown fields and numbers as text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if value is not None}


@dataclass(frozen=True)
class ReadLater:
    """Marks a JSON value to be parsed as `kind()` later, with its own errors and pointer.

    The body accepts any JSON there. Its schema comes from `kind()`, so the two cannot differ.
    """

    kind: Callable[[], Any]

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the kind."""
        return handler(TypeAdapter(self.kind()).core_schema)


_Model = TypeVar("_Model", bound=BaseModel)


def read(model: type[_Model], data: Any, at: str) -> _Model:
    """Return `data`, found at pointer `at`, as `model`.

    Raises RequestRejected with the invalid fields.
    """
    check_bounds(data, model, at)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RequestRejected(*field_errors(error, model, at)) from None


@contextmanager
def below(at: str) -> Iterator[None]:
    """Extend the pointers of a rejection in the block: they begin at `at`, not at the root."""
    try:
        yield
    except RequestRejected as rejected:
        moved = (FieldError(at + error.pointer, error.message) for error in rejected.errors)
        raise type(rejected)(*moved) from None
