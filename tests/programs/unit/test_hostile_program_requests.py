"""Any posted body becomes a program job or a refusal, never a crash."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.rejection import RequestRejected
from compiler.request.limits import RequestLimits
from programs.program_job import ProgramJob
from programs.program_kind import PROGRAM
from programs.program_request import EXAMPLE, ProgramRequest
from programs.service.program_submission import check_program
from service.http.body import parse_body
from service.http.problems import ProblemRaised, problem_of_rejection
from tests.programs.unit.queued_programs import queued

MANY = 100_000


def outcome(body: bytes) -> ProgramJob | RequestRejected | ProblemRaised:
    """Return the outcome of a body; other exceptions propagate."""
    try:
        request = parse_body(body, ProgramRequest)
        check_program(request, RequestLimits())
        return queued(request)
    except (RequestRejected, ProblemRaised) as refusal:
        return refusal


def check(body: bytes) -> None:
    """Check that a body becomes a job that the queue takes, or an answer of bounded size."""
    match outcome(body):
        case ProgramJob() as job:
            assert PROGRAM.read(PROGRAM.written(job)) == job
        case RequestRejected() as refusal:
            assert {error.pointer[:1] for error in refusal.errors} <= {"", "/"}
            assert len(str(problem_of_rejection(refusal)).encode()) < 4 * len(body) + 100_000
        case ProblemRaised() as problem:
            assert problem.slug in {"invalid_json", "too_large"}


names = st.sampled_from([*ProgramRequest.model_fields, "class", "kind", "name", "outputs"])
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats()
    | st.text()
    | st.sampled_from(["model", "function", "script", "interpreter", "tape", "kernels", "a.py"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | names, inner, max_size=4)
    ),
    max_leaves=8,
)


@given(name=names, value=anything)
def test_any_value_of_a_field_is_read_or_refused(name: str, value: Any) -> None:
    check(json.dumps(EXAMPLE | {name: value}).encode())


@given(value=anything)
def test_any_body_is_read_or_refused(value: Any) -> None:
    check(json.dumps(value).encode())


@given(
    entry=st.fixed_dictionaries(
        {"kind": st.sampled_from(["model", "function", "script"])},
        optional={
            "class": st.text(max_size=4),
            "name": st.text(max_size=4),
            "outputs": st.lists(st.text(max_size=4), max_size=3),
        },
    )
)
def test_any_entry_is_read_or_refused(entry: dict[str, Any]) -> None:
    check(json.dumps(EXAMPLE | {"entry": entry}).encode())


@pytest.mark.parametrize(
    "changed",
    [
        {"cases": [{"inputs": {"source": "x"}}] * MANY},
        {"checks": ["racecheck"] * MANY},
        {"entry": {"kind": "script", "outputs": ["x"] * MANY}},
        {"entry": {"kind": "model", "class": "A" * MANY}},
        {"files": {f"m{number}.py": "" for number in range(MANY // 10)}},
        {"files": {"a" * MANY + ".py": ""}},
        {"device": "x" * MANY},
        {"seed": 10**4000},
        {"source": "\ud800" * 1000},
    ],
    ids=["cases", "checks", "outputs", "class", "files", "path", "device", "seed", "surrogates"],
)
def test_what_is_too_much_is_refused_in_a_short_answer(changed: dict[str, Any]) -> None:
    check(json.dumps(EXAMPLE | changed).encode())
