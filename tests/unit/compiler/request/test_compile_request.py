"""Compile requests: field names, types and bounds, with the location of each error."""

from typing import Any

import orjson
import pytest

from compiler.rejection import RequestRejected
from compiler.request.compile_request import EXAMPLE, CompileRequest
from service.http.body import parse_body
from tests.unit.compiler.vector_add import VECTOR_ADD


def read(**changes: Any) -> CompileRequest:
    return parse_body(orjson.dumps(VECTOR_ADD | changes), CompileRequest)


def test_source_and_target_are_enough():
    request = parse_body(b'{"source": "x", "target": "cuda:90"}', CompileRequest)

    assert request == CompileRequest(
        source="x",
        target="cuda:90",
        files={},
        kernel=None,
        signature=None,
        hints=None,
        constexprs=None,
        options={},
        triton=None,
        stop_after=None,
        include=[],
        priority="interactive",
        timeout_s=60,
        refresh=False,
    )


def test_the_example_of_the_documentation_is_a_request():
    assert parse_body(orjson.dumps(EXAMPLE), CompileRequest).source == EXAMPLE["source"]


STAGES = "'source', 'ttir', 'ttgir', 'llir', 'ptx', 'cubin', 'amdgcn' or 'hsaco'"
TEXT = "Input should be a valid string"
MAPPING = "must be a JSON object"
LIST = "Input should be a valid list"
MAX_COUNT = "Input should be less than or equal to 600"
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown field": ({"spam": 1}, "/spam", "unknown field"),
    "misspelt field": (
        {"constexpr": {}},
        "/constexpr",
        "unknown field. Did you mean `constexprs`?",
    ),
    "empty source": ({"source": ""}, "/source", "String should have at least 1 character"),
    "source in lines": ({"source": ["x"]}, "/source", TEXT),
    "file that is no text": ({"files": {"a/b.py": 1}}, "/files/a~1b.py", TEXT),
    "files in a list": ({"files": []}, "/files", MAPPING),
    "empty kernel": ({"kernel": ""}, "/kernel", "String should have at least 1 character"),
    "long kernel": ({"kernel": "k" * 257}, "/kernel", "String should have at most 256 characters"),
    "hints in a string": ({"hints": {"x": "divisible_by_16"}}, "/hints/x", LIST),
    "hint that is a number": ({"hints": {"x": [16]}}, "/hints/x/0", TEXT),
    "constexprs in a list": ({"constexprs": [1024]}, "/constexprs", MAPPING),
    "target that is a number": ({"target": 90}, "/target", TEXT),
    "options in a list": ({"options": []}, "/options", MAPPING),
    "triton that is a number": ({"triton": 3.9}, "/triton", TEXT),
    "no stage": ({"stop_after": "sass"}, "/stop_after", f"Input should be {STAGES}"),
    "include in a string": ({"include": "ptx"}, "/include", LIST),
    "include of no stage": (
        {"include": ["ptx", "PTX"]},
        "/include/1",
        f"Input should be {STAGES}. Did you mean `ptx`?",
    ),
    "no priority": ({"priority": "high"}, "/priority", "Input should be 'interactive' or 'batch'"),
    "no time": ({"timeout_s": 0}, "/timeout_s", "Input should be greater than 0"),
    "too much time": ({"timeout_s": 601}, "/timeout_s", MAX_COUNT),
    "time in a string": ({"timeout_s": "60"}, "/timeout_s", "Input should be a valid number"),
    "time that is true": ({"timeout_s": True}, "/timeout_s", "Input should be a valid number"),
    "refresh that is 1": ({"refresh": 1}, "/refresh", "Input should be a valid boolean"),
}  # fmt: skip


@pytest.mark.parametrize(("change", "at", "message"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_with_its_place(change: dict[str, Any], at: str, message: str):
    with pytest.raises(RequestRejected) as rejected:
        read(**change)

    assert [(error.pointer, error.message) for error in rejected.value.errors] == [(at, message)]


def test_missing_fields_are_named():
    with pytest.raises(RequestRejected) as rejected:
        parse_body(b"{}", CompileRequest)

    assert str(rejected.value) == "/target: this field is needed"


@pytest.mark.parametrize("name", [name for name in CompileRequest.model_fields if name != "target"])
def test_null_is_the_same_as_leaving_a_field_out(name: str):
    assert CompileRequest.model_validate({"target": "cuda:90", name: None}) == (
        CompileRequest.model_validate({"target": "cuda:90"})
    )


@pytest.mark.parametrize("body", [b"[]", b"null", b'"source"', b"1", b"true"])
def test_a_body_that_is_no_object_is_refused(body: bytes):
    with pytest.raises(RequestRejected) as rejected:
        parse_body(body, CompileRequest)

    assert str(rejected.value) == ": must be a JSON object"
