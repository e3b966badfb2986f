"""Reads a record from the service's JSON, leniently, so that newer services work."""

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Record = TypeVar("_Record", bound="DataclassInstance")


def read_members(record: type[_Record], body: Mapping[str, Any], **read: Any) -> _Record:
    """Return a record of the members of `body` that it knows; `read` has those already parsed.

    Null and missing members have the record's defaults, and lists become tuples where these are
    tuples. Raises TypeError if a member without a default is missing.
    """
    known = {
        item.name: tuple(value) if item.default == () else value
        for item in fields(record)
        if (value := body.get(item.name)) is not None
    }
    return record(**(known | read))
