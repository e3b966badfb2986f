"""Faults of nested parts of a request, said with pointers from the root of the body."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from compiler.rejection import Fault, RequestRejected, did_you_mean, pointer

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
