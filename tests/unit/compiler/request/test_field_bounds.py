"""An object or list with too many members is one error, found before its members are read."""

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from compiler.rejection import FieldError, RequestRejected
from compiler.request.field_bounds import MAX_UNKNOWN, Unbounded, check_bounds

MANY = 100_000


class Part(BaseModel):
    """A part of a request, with one field whose name is a Python keyword."""

    model_config = ConfigDict(extra="forbid")

    class_: Annotated[str, Field(alias="class", max_length=9)] = ""
    grid: Annotated[list[int | str], Field(max_length=3)] = []


class Whole(BaseModel):
    """A request with parts."""

    files: Annotated[dict[str, str], Field(max_length=4)] | None = None
    part: Part | None = None
    parts: list[Part] = Field(default=[], max_length=2)
    by_name: dict[str, Part] = Field(default={}, max_length=2)
    either: Annotated[list[Any] | dict[str, Any], Field(max_length=1)] = []
    anything: Any = None


def error(data: Any, at: str = "") -> FieldError:
    with pytest.raises(RequestRejected) as refused:
        check_bounds(data, Whole, at)
    [found] = refused.value.errors
    return found


REFUSED: dict[str, tuple[Any, str, str]] = {
    "items": ({"parts": [{}] * 3}, "/parts", "should have at most 2 items, not 3"),
    "wrong items": ({"part": {"grid": [{}] * MANY}}, "/part/grid", f"not {MANY}"),
    "items of an item": ({"parts": [{}, {"grid": [1] * 4}]}, "/parts/1/grid", "at most 3 items"),
    "items by name": ({"by_name": {"a/b": {"grid": [1] * 4}}}, "/by_name/a~1b/grid", "at most 3"),
    "members": ({"files": dict.fromkeys(map(str, range(5)))}, "/files", "at most 4 members, not 5"),
    "either, a list": ({"either": [1, 2]}, "/either", "at most 1 items, not 2"),
    "either, an object": ({"either": {"a": 1, "b": 2}}, "/either", "at most 1 members, not 2"),
    "unknown members": (dict.fromkeys(map(str, range(MANY))), "", f"has {MANY} fields, far more"),
    "unknown members of a part": (
        {"part": dict.fromkeys(map(str, range(MAX_UNKNOWN + 3)))},
        "/part",
        f"has {MAX_UNKNOWN + 3} fields, far more than the 2 there are",
    ),
}


@pytest.mark.parametrize(("data", "pointer", "message"), REFUSED.values(), ids=REFUSED)
def test_too_many_are_one_fault_with_its_place(data: Any, pointer: str, message: str):
    found = error(data)

    assert found.pointer == pointer
    assert message in found.message


def test_a_part_may_lie_anywhere_in_a_body():
    assert error({"parts": [{}] * 3}, "/base").pointer == "/base/parts"


@pytest.mark.parametrize(
    "data",
    [
        {"parts": [{"grid": [1, 2, 3]}] * 2, "files": dict.fromkeys("abcd")},
        {"part": dict.fromkeys(map(str, range(MAX_UNKNOWN)))},
        {"anything": [[0] * MANY]},
        {"files": [], "parts": {}, "part": "text", "by_name": 1, "either": None},
        [],
        None,
    ],
    ids=[
        "as many as there may be",
        "few unknown ones",
        "any JSON",
        "wrong types",
        "a list",
        "null",
    ],
)
def test_what_is_not_too_much_is_left_to_the_model(data: Any):
    check_bounds(data, Whole)


class UnboundedList(BaseModel):
    """A list of any length."""

    names: list[str] = []


class UnionOfObjects(BaseModel):
    """A union of two kinds of objects, one of which has a limit."""

    part: Part | Whole


@pytest.mark.parametrize("model", [UnboundedList, UnionOfObjects])
def test_a_model_that_cannot_be_counted_is_a_mistake_of_ours(model: type[BaseModel]):
    with pytest.raises(Unbounded):
        check_bounds({}, model)
