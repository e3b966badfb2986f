"""Reads messages of children as the records that they were written as, within limits.

A message names its members once, in a dataclass that parent and child share. What reads it adds
only their limits: most by type, the others by name. A member without any is an error at import.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import pydantic
from pydantic import AfterValidator, create_model

from worker.compile.reports import Report

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """The limits of members by type: those of all members that have none by name."""

    by_type: Mapping[Any, Any]
    base: type[Report] = Report
    """The base of the models that read: it decides on members that a message does not have."""

    def reader(
        self, record: type[_Record], /, *, may_lack: Sequence[str] = (), **limits: Any
    ) -> Callable[[Mapping[str, Any]], _Record]:
        """Return what reads a message strictly: complete and within its limits.

        `limits` are types by member; members in `may_lack` have their default if they are absent.
        What is returned raises Malformed.
        """
        model, written = self._model(record, may_lack, limits), _written_as(record)
        return lambda members: written(model.read(members))

    def within(self, record: type[Any], /, *, may_lack: Sequence[str] = (), **limits: Any) -> Any:
        """Return the type of a member that holds such records; arguments are as for `reader`."""
        model = self._model(record, may_lack, limits)
        return Annotated[model, AfterValidator(_written_as(record))]

    def _model(
        self, record: type[Any], may_lack: Sequence[str], limits: Mapping[str, Any]
    ) -> type[Report]:
        hints = get_type_hints(record)
        if unknown := (limits.keys() | set(may_lack)) - hints.keys():
            raise TypeError(f"{record.__name__} has no member {min(unknown)}")
        members: dict[str, Any] = {}
        for item in fields(record):
            limit = limits.get(item.name, self.by_type.get(hints[item.name], hints[item.name]))
            if item.name not in limits and _is_unlimited(limit):
                raise TypeError(f"{record.__name__}.{item.name} has no limit")
            members[item.name] = (limit, _default(item) if item.name in may_lack else ...)
        return create_model(f"Limited{record.__name__}", __base__=self.base, **members)


def _is_unlimited(hint: Any) -> bool:
    """Return whether values of this type may be of any size."""
    if get_origin(hint) in (Union, UnionType):
        return any(map(_is_unlimited, get_args(hint)))
    return get_origin(hint) not in (Literal, Annotated) and hint not in (bool, NoneType)


def _default(item: Field[Any]) -> Any:
    if item.default_factory is not MISSING:
        return pydantic.Field(default_factory=item.default_factory)
    return item.default


def _written_as(record: type[_Record]) -> Callable[[Report], _Record]:
    """Return what makes the record of a model that was read."""
    names = [item.name for item in fields(record)]  # type: ignore[arg-type]
    return lambda read: record(**{name: getattr(read, name) for name in names})
