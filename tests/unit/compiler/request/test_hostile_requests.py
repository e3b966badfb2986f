"""Any posted body becomes a job or a refusal, never a crash."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.job import CompileJob
from compiler.rejection import RequestRejected
from compiler.request.compile_request import CompileRequest
from service.http.problems import ProblemRaised, problem_of_rejection
from tests.unit.compiler.request.request_outcome import MANY, outcome, raw, varied
from tests.unit.compiler.vector_add import VECTOR_ADD


def check(body: bytes) -> None:
    """Check that a body becomes a job that the queue takes, or an answer of bounded size."""
    match outcome(body):
        case CompileJob() as job:
            assert CompileJob.model_validate_json(job.model_dump_json()) == job
        case RequestRejected() as refusal:
            assert {error.pointer[:1] for error in refusal.errors} <= {"", "/"}
            assert len(str(problem_of_rejection(refusal)).encode()) < 4 * len(body) + 100_000
        case ProblemRaised() as problem:
            assert problem.slug == "invalid_json"


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats()
    | st.text()
    | st.sampled_from(["*fp32:16", "i32:1", "constexpr", "cuda:90", "ptx", "a.py", "num_warps"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["int", "float", "tuple", "dtype", "function"]), inner, max_size=1
        )
    ),
    max_leaves=12,
)
fields = st.sampled_from(sorted(CompileRequest.model_fields))
objects = st.dictionaries(
    st.from_regex(r"[a-z_]\w{0,4}", fullmatch=True) | st.text(max_size=4), anything, max_size=4
)


@given(st.dictionaries(fields, anything | objects, max_size=3))
def test_any_fields_are_a_job_or_refused(changes: dict[str, Any]):
    check(json.dumps(VECTOR_ADD | changes).encode())


@given(anything)
def test_any_json_is_a_job_or_refused(body: Any):
    check(json.dumps(body).encode())


@given(st.binary())
def test_any_bytes_are_a_job_or_refused(body: bytes):
    check(body)


@given(st.sampled_from(["signature", "target", "kernel", "stop_after"]), st.text())
def test_any_text_is_a_job_or_refused(name: str, text: str):
    check(varied(name, text))


NOT_JSON: dict[str, bytes] = {
    "nothing": b"",
    "python": b"{'source': ''}",
    "trailing": b"{} {}",
    "NaN": raw("constexprs", b'{"X": NaN}'),
    "Infinity": raw("constexprs", b'{"X": -Infinity}'),
    "lone surrogate": raw("source", b'"\\ud800"'),
    "lone surrogate as a name": raw("constexprs", b'{"\\udfff": 1}'),
    "no UTF-8": raw("source", b'"\xff"'),
    "surrogate in UTF-8": raw("source", b'"\xed\xa0\x80"'),
    "byte order mark": b"\xef\xbb\xbf{}",
    "deeper than any request": raw("signature", b"[" * MANY + b"]" * MANY),
    "integer of 5000 digits": raw("timeout_s", b"9" * 5000),
}


@pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
def test_what_cannot_be_read_is_not_json(body: bytes):
    assert isinstance(outcome(body), ProblemRaised)


REFUSED: dict[str, bytes] = {
    "empty constexpr name": varied("constexprs", {"": 1}),
    "NUL in a name": varied("constexprs", {"a\0": 1}),
    "NUL in a signature": varied("signature", "i32\0"),
    "NUL in a target": varied("target", "cuda:90\0"),
    "float that is too large": raw("constexprs", b'{"X": 1e400}'),
    "integer of 4000 digits": raw("constexprs", b'{"X": ' + b"9" * 4000 + b"}"),
    "option of 4000 digits": raw("options", b'{"maxnreg": ' + b"9" * 4000 + b"}"),
    "unbounded option": raw("options", b'{"max_num_imprecise_acc_default": ' + b"9" * 4000 + b"}"),
    "deep constexpr": raw("constexprs", b'{"X": ' + b"[" * 150 + b"]" * 150 + b"}"),
    "deep type": raw("signature", b'{"x": ' + b"[" * 150 + b"]" * 150 + b"}"),
    "deep option": raw("options", b'{"num_warps": ' + b"[" * 150 + b"]" * 150 + b"}"),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_is_out_of_bounds_is_refused(body: bytes):
    assert isinstance(outcome(body), RequestRejected)


def test_of_two_equal_names_the_last_one_counts():
    job = outcome(raw("kernel", b'"mul_kernel"'))

    assert isinstance(job, CompileJob)
    assert job.kernel == "mul_kernel"
