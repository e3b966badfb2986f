"""How whatever is stored, or sent between parts, is read: parts of two versions share one store.

During an upgrade an old service reads what a new worker wrote, and the other way round. So members
that are not known here are ignored, at every depth, and those that are missing have their defaults.
What an older version must not read at all has a `version` that it does not know. Requests are not
read like this: a member that a client misspelt must not be ignored.
"""

from functools import cache
from typing import Any, Final, TypeVar, cast

import orjson
from pydantic import TypeAdapter, ValidationError

Kind = TypeVar("Kind")

_SHOWN_ERRORS: Final = 3


class Unreadable(ValueError):
    """What is stored cannot be read here. The message is a sentence for whoever asked for it."""


def read_stored(kind: type[Kind], data: bytes | str) -> Kind:
    """Return the record of `kind` (a model, dataclass, or plain type) that `data` is, as JSON.

    Raises Unreadable: it is damaged, or of a version of tritond that this one cannot read.
    """
    try:
        return _adapter(kind).validate_json(data, extra="ignore")
    except ValidationError as error:
        raise Unreadable(_sentence(kind, data, error)) from None


@cache
def _adapter(kind: type[Kind]) -> TypeAdapter[Kind]:
    return TypeAdapter(kind)


def _sentence(kind: type[Any], data: bytes | str, error: ValidationError) -> str:
    name = getattr(kind, "__name__", str(kind))
    errors = error.errors(include_url=False, include_context=False)
    if any(item["loc"] == ("version",) for item in errors):
        version = str(cast("dict[str, Any]", orjson.loads(data)).get("version"))[:20]
        return (
            f"A newer tritond wrote this {name} (version {version}), and this one cannot read it. "
            "Upgrade every service and worker, or post the request again."
        )
    where = "; ".join(
        f"{'.'.join(map(str, item['loc']))[:100]}: {item['msg'][:100]}"
        for item in errors[:_SHOWN_ERRORS]
    )
    return f"A stored {name} cannot be read here: {where}"
