"""Requests with IR: jobs, keys, and members that IR excludes."""

from typing import Any

import pytest
from pydantic import ValidationError

from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from tests.unit.compiler.vector_add import TOOLCHAIN

TEXT = "module {}"


def ir_job(ir: dict[str, Any] | None = None, **changes: Any) -> CompileJob:
    body = {"ir": {"language": "ttir", "text": TEXT, **(ir or {})}, "target": "cuda:90", **changes}
    return resolve(CompileRequest.model_validate(body), TOOLCHAIN, "")


def test_a_job_holds_the_text_and_no_source():
    job = ir_job()

    assert job.source is None
    assert job.ir is not None
    assert job.texts == {"user.ttir": TEXT}


def test_a_job_survives_the_queue():
    job = ir_job({"canonicalize": True})

    assert CompileJob.model_validate_json(job.model_dump_json()) == job


def test_its_request_means_the_same_job():
    job = ir_job({"canonicalize": True}, options={"num_warps": 8}, stop_after="ttgir")

    again = resolve(CompileRequest.model_validate(job.as_request()), TOOLCHAIN, "")

    assert again.key == job.key


DIFFERENT: dict[str, dict[str, Any]] = {
    "text": {"ir": {"text": TEXT + " "}},
    "language": {"ir": {"language": "ttgir"}},
    "canonicalize": {"ir": {"canonicalize": True}},
    "target": {"target": "cuda:80"},
    "options": {"options": {"num_warps": 8}},
    "stop_after": {"stop_after": "ptx"},
}


@pytest.mark.parametrize("changes", DIFFERENT.values(), ids=DIFFERENT)
def test_what_changes_the_result_changes_the_key(changes: dict[str, Any]):
    assert ir_job(**changes).key != ir_job().key


def test_ir_and_a_source_of_the_same_text_have_different_keys():
    request = CompileRequest.model_validate({"source": TEXT, "target": "cuda:90"})

    assert resolve(request, TOOLCHAIN, "").key != ir_job().key


@pytest.mark.parametrize(
    ("canonicalize", "first"), [(True, "source"), (False, "ttir")], ids=["raw", "canonical"]
)
def test_it_may_stop_at_the_stage_that_was_posted(canonicalize: bool, first: str):
    assert ir_job({"canonicalize": canonicalize}, stop_after=first, include=[first]).stop_after


def test_it_cannot_stop_before_the_stage_that_was_posted():
    with pytest.raises(RequestRejected) as refused:
        ir_job({"language": "ttgir"}, stop_after="ttir")

    [error] = refused.value.errors
    assert error.pointer == "/stop_after"
    assert error.message == "ttir comes before ttgir, which is what was posted"


def test_every_field_of_a_source_is_refused_at_once():
    with pytest.raises(RequestRejected) as refused:
        ir_job(kernel="add", signature={"x": "i32"}, constexprs={"B": 1})

    assert [error.pointer for error in refused.value.errors] == [
        "/kernel",
        "/signature",
        "/constexprs",
    ]


def test_ir_needs_a_language():
    with pytest.raises(ValidationError, match="language"):
        CompileRequest.model_validate({"ir": {"text": TEXT}, "target": "cuda:90"})
