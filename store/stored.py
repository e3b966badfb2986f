"""The reading of everything that is stored or sent between parts: two versions share one store.

During an upgrade an old service reads what a new worker wrote, and a new service what an old worker
wrote. So unknown members are ignored, at every depth, and missing ones have their defaults. A
record that older versions must not read has a `version` that they do not know. Requests are read
strictly instead, since a member that a client misspelt must not be ignored.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

Kind = TypeVar("Kind")

_SHOWN_ERRORS: Final = 3
_adapter: Final[Callable[[Any], TypeAdapter[Any]]] = cache(TypeAdapter)


class Unreadable(ValueError):
    """A record cannot be read here. The message is one sentence for the caller."""


def read_stored(kind: type[Kind], data: bytes | str) -> Kind:
    """Return the JSON in `data` as a `kind`: a model, a dataclass, or a plain type.

    Raises Unreadable: it is damaged, or of a version of tritond that this one cannot read.
    """
    try:
        read: Kind = _adapter(kind).validate_json(data, extra="ignore")
    except ValidationError as error:
        raise Unreadable(_sentence(getattr(kind, "__name__", str(kind)), error)) from None
    return read


def _sentence(name: str, error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_context=False)
    for item in errors:
        if item["loc"] == ("version",):
            return (
                f"Another version of tritond wrote this {name} (its version is "
                f"{str(item['input'])[:20]}), and this one cannot read it. Upgrade all services "
                "and workers to the same release, or post the request again."
            )
    where = "; ".join(
        f"{'.'.join(map(str, item['loc']))[:100]}: {item['msg'][:100]}"
        for item in errors[:_SHOWN_ERRORS]
    )
    return f"A stored {name} cannot be read: {where}. Post the request again."
