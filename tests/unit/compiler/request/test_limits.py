"""Every part of a request has a limit, and an error that names the part and the limit."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.inspection import InspectRequest
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from compiler.request.limits import RequestLimits, RequestTooLarge, check

LIMITS = RequestLimits(
    source_bytes=20, ir_bytes=20, files=2, files_bytes=20, parameters=3, specialization_bytes=40
)
TOO_LARGE: dict[str, tuple[dict[str, Any], str, str]] = {
    "source": ({"source": "#" * 21}, "/source", "the source: 21 bytes; the limit is 20 bytes"),
    "source in characters of three bytes": (
        {"source": "\N{EURO SIGN}" * 7},
        "/source",
        "the source: 21 bytes; the limit is 20 bytes",
    ),
    "IR": (
        {"ir": {"language": "ttir", "text": "m" * 21}},
        "/ir/text",
        "the IR: 21 bytes; the limit is 20 bytes",
    ),
    "files together": (
        {"source": "x", "files": {"a.py": "#" * 10, "b.py": "#" * 11}},
        "/files",
        "the files: 21 bytes; the limit is 20 bytes",
    ),
    "a constexpr": (
        {"source": "x", "constexprs": {"NAME": "n" * 40}},
        "/constexprs",
        "constexprs: 52 bytes; the limit is 40 bytes",
    ),
    "specialization_data": (
        {"source": "x", "specialization_data": "d" * 50},
        "/specialization_data",
        "specialization_data: 52 bytes; the limit is 40 bytes",
    ),
}
TOO_MANY: dict[str, tuple[dict[str, Any], str, str]] = {
    "files": (
        {"source": "x", "files": {f"{name}.py": "" for name in "abc"}},
        "/files",
        "3 files; the limit is 2",
    ),
    "parameters": (
        {"source": "x", "signature": {"a": "i32", "b": "i32"}, "constexprs": {"C": 1, "D": 2}},
        "/signature",
        "4 parameters; the limit is 3",
    ),
    "parameters by position": (
        {"source": "x", "signature": "i32, tensordesc<fp16[8,8]>, 1, 2"},
        "/signature",
        "4 parameters; the limit is 3",
    ),
}


def request(fields: dict[str, Any]) -> CompileRequest:
    return CompileRequest.model_validate({"target": "cuda:90", **fields})


@pytest.mark.parametrize(("fields", "at", "message"), TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_too_large_is_named_with_its_limit(
    fields: dict[str, Any], at: str, message: str
) -> None:
    with pytest.raises(RequestTooLarge) as refused:
        check(request(fields), LIMITS)

    assert [(error.pointer, error.message) for error in refused.value.errors] == [(at, message)]
    assert refused.value.slug == "too_large"


@pytest.mark.parametrize(("fields", "at", "message"), TOO_MANY.values(), ids=TOO_MANY)
def test_what_is_too_many_is_named_with_its_limit(
    fields: dict[str, Any], at: str, message: str
) -> None:
    with pytest.raises(RequestRejected) as refused:
        check(request(fields), LIMITS)

    assert [(error.pointer, error.message) for error in refused.value.errors] == [(at, message)]


def test_what_is_as_large_as_allowed_passes() -> None:
    files = {"a.py": "#" * 10, "b.py": "#" * 10}
    signature = {"a": "i32", "b": "i32", "C": "constexpr"}

    check(
        request({"source": "#" * 20, "files": files, "signature": signature}),
        RequestLimits(
            source_bytes=20,
            files=2,
            files_bytes=20,
            parameters=3,
            specialization_bytes=len('{"a": "i32", "b": "i32", "C": "constexpr"}'),
        ),
    )
    check(request({"ir": {"language": "ttir", "text": "m" * 20}}), LIMITS)


def test_an_inspection_has_the_limits_of_its_source_and_files() -> None:
    with pytest.raises(RequestTooLarge, match=r"^/source: "):
        check(InspectRequest(source="#" * 21), LIMITS)
    with pytest.raises(RequestRejected, match=r"^/files: 3 files"):
        check(InspectRequest(source="x", files={"a.py": "", "b.py": "", "c.py": ""}), LIMITS)
