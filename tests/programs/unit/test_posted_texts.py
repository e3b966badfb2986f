"""A program's own text: `source`, or one of its files."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from compiler.rejection import RequestRejected
from programs.program_request import ProgramRequest
from service.http.body import parse_value

SCHEMA = ProgramRequest.model_json_schema()
POSTED: dict[str, tuple[dict[str, Any], str, dict[str, str]]] = {
    "a source": ({"source": "x = 1"}, "x = 1", {}),
    "a source and files": ({"source": "import a", "files": {"a.py": ""}}, "import a", {"a.py": ""}),
    "one file": ({"files": {"net/model_new.py": "x = 1"}}, "x = 1", {}),
    "files with user.py": (
        {"files": {"a.py": "b = 1", "user.py": "import a"}},
        "import a",
        {"a.py": "b = 1"},
    ),
}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "/source", "this field is needed"),
    "no file": ({"files": {}}, "/source", "this field is needed"),
    "several files": ({"files": {"a.py": "", "b.py": ""}}, "", "no file is called user.py"),
    "several files of a reference": (
        {"source": "x", "reference": {"files": {"a.py": "x", "b.py": "x"}}},
        "/reference",
        "no file is called user.py",
    ),
    "an empty file": ({"files": {"a.py": ""}}, "/source", "at least 1 character"),
    "no text": ({"files": {"a.py": 1}}, "/source", "valid string"),
}


@pytest.mark.parametrize(("body", "source", "files"), POSTED.values(), ids=POSTED)
def test_a_program_without_a_source_is_one_of_its_files(
    body: dict[str, Any], source: str, files: dict[str, str]
) -> None:
    jsonschema.validate(body, SCHEMA)

    for said in (parse_value(body, ProgramRequest), reference(body)):
        assert (said.source, said.files) == (source, files)


def test_a_source_of_null_is_none() -> None:
    said = parse_value({"source": None, "files": {"model_new.py": "x = 1"}}, ProgramRequest)
    assert (said.source, said.files) == ("x = 1", {})


def reference(body: dict[str, Any]) -> Any:
    return parse_value({"source": "x", "reference": body}, ProgramRequest).reference


@pytest.mark.parametrize(("body", "pointer", "said"), REFUSED.values(), ids=REFUSED)
def test_files_that_do_not_say_which_is_the_program_are_refused(
    body: dict[str, Any], pointer: str, said: str
) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, SCHEMA)

    with pytest.raises(RequestRejected) as refused:
        parse_value(body, ProgramRequest)
    assert refused.value.errors[0].pointer == pointer
    assert said in refused.value.errors[0].message


def test_what_was_posted_as_a_file_is_kept_as_the_source() -> None:
    request = parse_value({"files": {"model_new.py": "x = 1"}}, ProgramRequest)

    assert request.model_dump(exclude_unset=True) == {"source": "x = 1", "files": {}}
