"""Every part of a request has a maximum, and so has its number of errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from annotated_types import MaxLen
from pydantic import BaseModel, FailFast, Field, JsonValue
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType

from adapters.mcp.protocol import TOOL_ARGUMENTS
from compiler.request.field_bounds import MAX_UNKNOWN, Unbounded, check_bounds
from launch.request.request_part import ReadLater
from service.application import BODIES as CORE_BODIES
from service.composition import FEATURES
from tests.unit.service.applications import document

MAX_ERRORS_AT_ONCE = 12_000
"""Each error takes about four microseconds to record and format."""
BODIES = (*CORE_BODIES, *(body for feature in FEATURES for body in feature.bodies))
MODELS = (*BODIES, *TOOL_ARGUMENTS)


@dataclass(frozen=True)
class Place:
    """A type somewhere in a model, with the constraints around it."""

    where: str
    annotation: Any
    stated: tuple[Any, ...]

    @property
    def has_maximum(self) -> bool:
        return any(isinstance(item, MaxLen) for item in self.stated)

    @property
    def most(self) -> int:
        return min(item.max_length for item in self.stated if isinstance(item, MaxLen))

    @property
    def ends_at_the_first(self) -> bool:
        return any(isinstance(item, FailFast) and item.fail_fast for item in self.stated)

    @property
    def origin(self) -> Any:
        origin = get_origin(self.annotation) or self.annotation
        return Union if origin is UnionType else origin

    def inside(self) -> Iterator[Place]:
        """Yield the types that this one consists of."""
        if isinstance(self.annotation, TypeAliasType):
            yield Place(self.where, self.annotation.__value__, self.stated)
        elif self.origin is Annotated:
            first, *metadata = get_args(self.annotation)
            stated = tuple(one for item in metadata for one in unpacked(item))
            later = [item.kind() for item in stated if isinstance(item, ReadLater)]
            for kind in later or [first]:
                yield Place(self.where, kind, self.stated + stated)
        elif self.origin is Union:
            for kind in get_args(self.annotation):
                yield Place(self.where, kind, self.stated)
        elif is_model(self.annotation):
            for name, field in self.annotation.model_fields.items():
                where = f"{self.annotation.__name__}.{name}"
                yield from Place(where, field_type(field), ()).inside()
        elif self.origin is not Literal:
            for index, kind in enumerate(get_args(self.annotation)):
                yield Place(f"{self.where}[{index}]", kind, ())


def unpacked(item: Any) -> list[Any]:
    return list(item.metadata) if isinstance(item, FieldInfo) else [item]


def field_type(field: FieldInfo) -> Any:
    """Return the type of a field with all its constraints."""
    stated = tuple(field.metadata)
    return Annotated[(field.annotation, *stated)] if stated else Annotated[field.annotation, None]


def is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def places(model: Any) -> Iterator[Place]:
    """Yield every type in `model`, each model once."""
    seen: set[int] = set()
    left = [Place(getattr(model, "__name__", str(model)), model, ())]
    while left:
        place = left.pop()
        if place.annotation is JsonValue:  # the limit of values in a body bounds it
            continue
        yield place
        if is_model(place.annotation) or isinstance(place.annotation, TypeAliasType):
            if id(place.annotation) in seen:
                continue
            seen.add(id(place.annotation))
        left += place.inside()


def without_maximum(model: Any) -> list[str]:
    counted = (list, dict, set, frozenset, tuple, str)
    return [
        place.where for place in places(model) if place.origin in counted and not place.has_maximum
    ]


def most_errors(place: Place) -> int:
    """Return how many errors one value can have at once, without values that are read later."""
    if is_model(place.annotation):
        fields = place.annotation.model_fields.values()
        return MAX_UNKNOWN + sum(
            max(1, most_errors(Place("", field.annotation, tuple(field.metadata))))
            for field in fields
        )
    if place.origin is Annotated:
        first, *metadata = get_args(place.annotation)
        stated = tuple(one for item in metadata for one in unpacked(item))
        return most_errors(Place("", first, place.stated + stated))
    if place.origin is Union:
        return sum(
            most_errors(Place("", kind, place.stated)) for kind in get_args(place.annotation)
        )
    if place.origin in (list, dict):
        each = sum(most_errors(Place("", kind, ())) for kind in get_args(place.annotation))
        return each if place.ends_at_the_first else place.most * each
    return 0 if place.annotation in (Any, JsonValue) else 1


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_list_object_and_text_of_a_request_has_a_maximum(model: type[BaseModel]) -> None:
    assert without_maximum(model) == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_little_can_be_wrong_with_a_request_at_once(model: type[BaseModel]) -> None:
    assert most_errors(Place("", model, ())) <= MAX_ERRORS_AT_ONCE


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_maxima_are_found_before_anything_is_read(model: type[BaseModel]) -> None:
    for place in places(model):
        if is_model(place.annotation):
            check_bounds({}, place.annotation)


def test_the_bodies_of_all_routes_are_looked_at() -> None:
    operations = [
        operation
        for path in document()["paths"].values()
        for method, operation in path.items()
        if "requestBody" in operation
    ]
    schemas = [
        content["schema"]
        for operation in operations
        for media_type, content in operation["requestBody"]["content"].items()
        if media_type == "application/json"
    ]
    named = {
        one["$ref"].rpartition("/")[2]
        for schema in schemas
        for one in schema.get("anyOf", [schema])
    }

    assert named == {model.__name__ for model in BODIES}


class _Loose(BaseModel):
    """A request that accepts anything."""

    names: list[str] = []
    by_name: dict[str, Annotated[int, Field(ge=0)]] = {}
    inner: list[dict[str, int]] | None = None
    bounded: Annotated[list[int], Field(max_length=3)] = []


def test_a_list_without_a_maximum_is_found() -> None:
    found = ["_Loose.names", "_Loose.names[0]", "_Loose.by_name", "_Loose.by_name[0]"]
    found += ["_Loose.inner", "_Loose.inner[0]", "_Loose.inner[0][0]"]
    assert sorted(without_maximum(_Loose)) == sorted(found)
    with pytest.raises(Unbounded, match="states no max_length"):
        check_bounds({}, _Loose)
