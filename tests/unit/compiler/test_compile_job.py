"""Compile jobs in the queue and in answers."""

import json
from typing import Any

import pytest

from compiler.job import CompileJob
from compiler.specialization import SpecializedParameter
from tests.unit.compiler.vector_add import job

REQUESTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "by position": {"signature": "*fp32:16, i32:1, 1024", "constexprs": None},
    "numbers by position": {"signature": f"{2**64 - 1}, -0.0, 1e-7, False", "constexprs": None},
    "hints": {"hints": {"x_ptr": ["pointer_range_32"]}},
    "tuples": {"signature": {"pair": ["*fp32", ["i32"]]}},
    "values": {
        "constexprs": {"A": 2**63, "B": {"float": "-inf"}, "C": [1, 1.0, [None]], "D": -0.0}
    },
    "named values": {"constexprs": {"T": {"dtype": "bf16"}, "F": {"function": "relu"}}},
    "kernel left out": {"kernel": None},
    "files": {"files": {"a.py": "N = 1\n"}},
    "another target": {"target": "hip:gfx942", "stop_after": "amdgcn"},
}


@pytest.mark.parametrize("change", REQUESTS.values(), ids=REQUESTS)
def test_a_job_crosses_the_queue_unchanged(change: dict[str, Any]):
    sent = job(**change)

    assert CompileJob.model_validate_json(sent.model_dump_json()) == sent


@pytest.mark.parametrize("change", REQUESTS.values(), ids=REQUESTS)
def test_what_a_job_gives_back_can_be_posted_again(change: dict[str, Any]):
    first = job(**change)
    body = json.loads(json.dumps(first.as_request()))

    assert job(**body).key == first.key


def test_a_job_gives_back_the_options_that_were_resolved():
    given = job(options={"num_warps": 8}).as_request()["options"]

    assert (given["num_warps"], given["num_stages"]) == (8, 3)


def test_a_job_parses_its_target_and_specialization():
    parsed = job()

    assert str(parsed.target) == "cuda:90"
    assert parsed.specialization.named["n_elements"] == SpecializedParameter("i32")
