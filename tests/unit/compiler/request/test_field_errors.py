"""Errors of pydantic become field errors, with locations and suggestions."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from compiler.rejection import MAX_ERRORS, FieldError
from compiler.request.field_errors import field_errors


class Part(BaseModel):
    """A part of a request, with a field whose name is a Python keyword."""

    model_config = ConfigDict(extra="forbid")

    repeats: int = 1
    class_: str = Field(default="", alias="class")
    inner: "Part | None" = None


class Whole(BaseModel):
    """A request with parts."""

    model_config = ConfigDict(extra="forbid")

    files: dict[str, str] = {}
    part: Part | None = None
    parts: list[Part] = []
    by_name: dict[str, Part] = {}
    kind: Literal["compilations", "launches"] = "launches"


def errors(data: Any, at: str = "") -> tuple[FieldError, ...]:
    with pytest.raises(ValidationError) as refused:
        Whole.model_validate(data)
    return field_errors(refused.value, Whole, at)


SLIPS: dict[str, tuple[dict[str, Any], str, str]] = {
    "of the request": ({"file": {}}, "/file", "files"),
    "of a part": ({"part": {"repeat": 1}}, "/part/repeat", "repeats"),
    "of a part of a part": ({"part": {"inner": {"inne": 1}}}, "/part/inner/inne", "inner"),
    "of a part in a list": ({"parts": [{}, {"repeat": 1}]}, "/parts/1/repeat", "repeats"),
    "of a part by name": ({"by_name": {"a": {"repeat": 1}}}, "/by_name/a/repeat", "repeats"),
    "of a part with the name of a field": (
        {"by_name": {"inner": {"repeat": 1}}},
        "/by_name/inner/repeat",
        "repeats",
    ),
    "of a field with an alias": ({"part": {"clas": ""}}, "/part/clas", "class"),
}


@pytest.mark.parametrize(("data", "pointer", "meant"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_held_against_the_fields_of_the_part_that_it_is_in(data, pointer, meant):
    assert errors(data) == (FieldError(pointer, f"unknown field. Did you mean `{meant}`?"),)


def test_a_field_of_a_member_is_named_with_the_member():
    assert errors({"class": "A"}) == (FieldError("/class", "unknown field; it belongs in `part`"),)


def test_a_field_of_another_part_is_not_what_was_meant():
    assert errors({"part": {"files": {}}}) == (FieldError("/part/files", "unknown field"),)


def test_a_part_may_lie_anywhere_in_a_body():
    assert errors({"part": 1}, "/device") == (FieldError("/device/part", "must be a JSON object"),)


def test_a_slip_in_a_word_is_held_against_the_words_that_are_allowed():
    allowed = "Input should be 'compilations' or 'launches'"

    assert errors({"kind": "compilation"}) == (
        FieldError("/kind", f"{allowed}. Did you mean `compilations`?"),
    )
    assert errors({"kind": "x" * 100_000}) == (FieldError("/kind", allowed),)
    assert errors({"kind": 1}) == (FieldError("/kind", allowed),)


def test_a_flood_of_unknown_fields_is_answered_with_the_first_of_them():
    reported = errors({"part": {f"field{index}": 0 for index in range(1000)}})

    assert [error.pointer for error in reported] == [
        f"/part/field{index}" for index in range(MAX_ERRORS)
    ]


def test_a_name_of_an_unknown_field_is_reported_in_part_where_it_is_long():
    (reported,) = errors({"part": {"a" * 100_000: 0}})

    assert reported == FieldError("/part/" + "a" * 256, "unknown field")
