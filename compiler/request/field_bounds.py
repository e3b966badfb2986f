"""The maximum numbers of members and items in each part of a request, checked before the items.

pydantic reads what is in an object before it counts it, and keeps an error for each part that is
wrong. So this goes first, by the maxima that the models' own fields state.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import MaxLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from compiler.rejection import FieldError, RequestRejected, pointer

MAX_UNKNOWN = 16
"""The number of reported unknown members of an object; each error has a suggestion."""


@dataclass(frozen=True, slots=True)
class _Items:
    most: int
    each: "_Bounds"


@dataclass(frozen=True, slots=True)
class _Members:
    most: int
    each: "_Bounds"


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Limits of one value by its type; None: this type is not checked."""

    items: _Items | None = None
    members: _Members | type[BaseModel] | None = None


class Unbounded(TypeError):
    """A model has a list or an object without a maximum, or two kinds of objects in one place."""


def check_bounds(data: Any, model: type[BaseModel], at: str = "") -> None:
    """Refuse more members or items than `model` ever takes; `data` was found at pointer `at`.

    Values that a model takes as any JSON are left to what reads them. Raises RequestRejected at
    the first part that is too large, and Unbounded for a model that states no maximum.
    """
    _check(data, _Bounds(members=model), at)


def _check(data: Any, bounds: _Bounds, at: str) -> None:
    if isinstance(data, dict):
        if isinstance(bounds.members, _Members):
            _check_members(data, bounds.members, at)
        elif bounds.members is not None:
            _check_fields(data, bounds.members, at)
    elif isinstance(data, list) and bounds.items is not None:
        if len(data) > bounds.items.most:
            message = f"should have at most {bounds.items.most} items, not {len(data)}"
            raise RequestRejected(FieldError(at, message))
        if bounds.items.each is not _ANY:
            for index, item in enumerate(data):
                _check(item, bounds.items.each, at + pointer(index))


def _check_members(data: Mapping[str, Any], members: _Members, at: str) -> None:
    if len(data) > members.most:
        message = f"should have at most {members.most} members, not {len(data)}"
        raise RequestRejected(FieldError(at, message))
    if members.each is not _ANY:
        for name, value in data.items():
            _check(value, members.each, at + pointer(name))


def _check_fields(data: Mapping[str, Any], model: type[BaseModel], at: str) -> None:
    if len(data) > len(model.model_fields) + MAX_UNKNOWN:
        message = f"has {len(data)} fields, far more than the {len(model.model_fields)} there are"
        raise RequestRejected(FieldError(at, message))
    for name, bounds in _bounded_fields(model).items():
        if name in data:
            _check(data[name], bounds, at + pointer(name))


_ANY = _Bounds()


@lru_cache(maxsize=256)
def _bounded_fields(model: type[BaseModel]) -> Mapping[str, _Bounds]:
    """Return the bounds of the fields that have any, by their names in JSON."""
    bounded = {
        field.alias or name: _bounds(field.annotation, _lengths(field))
        for name, field in model.model_fields.items()
    }
    return {name: bounds for name, bounds in bounded.items() if bounds is not _ANY}


def _lengths(field: FieldInfo) -> list[int]:
    return [item.max_length for item in field.metadata if isinstance(item, MaxLen)]


def _bounds(annotation: Any, lengths: Sequence[int]) -> _Bounds:
    """Return the bounds of values of `annotation`; `lengths` are maxima stated around it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        stated = [item for each in arguments[1:] for item in _stated(each)]
        return _bounds(arguments[0], [*lengths, *stated])
    if origin in (Union, UnionType):
        return _either([_bounds(each, lengths) for each in arguments], annotation)
    if origin is list or annotation is list:
        each = _bounds(arguments[0], ()) if arguments else _ANY
        return _Bounds(items=_Items(_most(lengths, annotation), each))
    if origin is dict or annotation is dict:
        each = _bounds(arguments[1], ()) if arguments else _ANY
        return _Bounds(members=_Members(_most(lengths, annotation), each))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Bounds(members=annotation)
    return _ANY


def _stated(metadata: Any) -> Iterator[int]:
    if isinstance(metadata, MaxLen):
        yield metadata.max_length
    elif isinstance(metadata, FieldInfo):
        yield from _lengths(metadata)


def _either(bounds: Sequence[_Bounds], annotation: Any) -> _Bounds:
    items = [each.items for each in bounds if each.items]
    members = [each.members for each in bounds if each.members]
    if len(items) > 1 or len(members) > 1:
        raise Unbounded(f"{annotation} takes lists, or objects, in two ways; one is counted")
    if not items and not members:
        return _ANY
    return _Bounds(items[0] if items else None, members[0] if members else None)


def _most(lengths: Sequence[int], annotation: Any) -> int:
    if not lengths:
        raise Unbounded(f"{annotation} states no max_length")
    return min(lengths)
