"""Refusals of KernelGYM's and flashinfer-bench's APIs where no worker evaluates programs.

tests/evaluators, with torch, checks the results of tasks.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from adapters.evaluators.kernelgym_task import EXAMPLE as TASK
from tests.integration.service.running import Deployment

DEFINITION: dict[str, Any] = {
    "name": "scale",
    "op_type": "test",
    "axes": {"N": {"type": "const", "value": 128}},
    "inputs": {"X": {"shape": ["N"], "dtype": "float32"}},
    "outputs": {"Y": {"shape": ["N"], "dtype": "float32"}},
    "reference": "import torch\n\ndef run(X):\n    return X * 2\n",
}
WORKLOADS = [
    {"uuid": "w1", "axes": {}, "inputs": {"X": {"type": "random"}}},
    {
        "uuid": "w2",
        "axes": {},
        "inputs": {"X": {"type": "safetensors", "path": "x.safetensors", "tensor_key": "X"}},
    },
]


def solution(content: str, **changed: Any) -> dict[str, Any]:
    """Return a solution of one source, as flashinfer-bench's clients post it."""
    spec = {
        "language": "python",
        "target_hardware": ["cuda"],
        "entry_point": "pkg/main.py::kernel",
        "dependencies": [],
        "destination_passing_style": False,
        "binding": None,
    }
    named = {"name": "mine", "definition": "scale", "author": "test", "description": None}
    return named | {
        "spec": spec | changed,
        "sources": [{"path": "pkg/main.py", "content": content}],
    }


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("trace")
    (folder / "definitions").mkdir()
    (folder / "definitions/scale.json").write_text(json.dumps(DEFINITION))
    (folder / "workloads").mkdir()
    lines = [json.dumps({"definition": "scale", "workload": each}) for each in WORKLOADS]
    (folder / "workloads/scale.jsonl").write_text("\n".join(lines))
    settings = {"TRITOND_FLASHINFER_TRACE": str(folder)}
    deployment = Deployment(tmp_path_factory.mktemp("evaluators"), **settings)
    deployment.start_store()
    deployment.start_service()
    with deployment.client() as client:
        yield client
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


@pytest.mark.parametrize("prefix", ["", "/kernelgym"])
def test_a_task_is_refused_by_the_field_that_nothing_here_does(
    http: httpx.Client, prefix: str
) -> None:
    answer = http.post(f"{prefix}/evaluate", json=TASK | {"backend": "cuda"})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/backend"]
    unknown = http.post(f"{prefix}/evaluate", json=TASK | {"num_perf_trial": 3})
    assert unknown.json()["errors"][0]["pointer"] == "/num_perf_trial"
    assert "`num_perf_trials`" in unknown.json()["detail"]


def test_without_a_worker_that_evaluates_programs_nothing_is_healthy(http: httpx.Client) -> None:
    assert http.get("/health").json() == {"status": "unhealthy", "workers": [], "queue_size": 0}
    assert http.get("/kernelgym/health").json()["status"] == "unhealthy"
    assert http.get("/flashinfer-bench/health").json()["status"] == "ok"
    answer = http.post("/evaluate", json=TASK)
    assert (answer.status_code, answer.json()["slug"]) == (503, "no_toolchain")
    assert "retry-after" in answer.headers


def test_a_refused_task_of_a_batch_is_a_failed_one(http: httpx.Client) -> None:
    tasks = [
        TASK | {"task_id": "a", "backend": "cuda"},
        TASK | {"task_id": "b", "timeout": "soon"},
        {"task_id": "c"},
        "d",
    ]
    answer = http.post("/evaluate/batch", json={"batch_id": "b1", "tasks": tasks}).json()
    assert (answer["failed_tasks"], answer["batch_status"]) == (4, "completed")
    assert {result["error_code"] for result in answer["results"]} == {"VALIDATION_ERROR"}
    assert [result["task_id"] for result in answer["results"]] == ["a", "b", "c", ""]
    assert "/backend" in answer["results"][0]["error_message"]


@pytest.mark.parametrize("path", ["/status/none", "/results/none", "/tasks/none"])
def test_a_task_that_was_not_posted_is_not_found(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 404


def test_a_body_of_neither_evaluator_is_refused(http: httpx.Client) -> None:
    for body in ({}, {"solution": {}, "kernel_code": "x"}, []):
        answer = http.post("/evaluate", json=body)
        assert answer.status_code == 422
        assert "`kernel_code`" in answer.json()["detail"]


@pytest.mark.parametrize("prefix", ["", "/flashinfer-bench"])
def test_definitions_and_workloads_are_those_of_the_folder(http: httpx.Client, prefix: str) -> None:
    assert http.get(f"{prefix}/definitions").json() == [{"name": "scale", "description": None}]
    assert http.get(f"{prefix}/definitions/scale").json() == DEFINITION
    assert http.get(f"{prefix}/definitions/scale/workloads").json() == WORKLOADS
    assert http.get(f"{prefix}/workloads/w2").json() == WORKLOADS[1]
    assert http.get(f"{prefix}/definitions/other").status_code == 404


def test_a_solution_in_another_language_is_refused_by_its_field(http: httpx.Client) -> None:
    posted = {"solution": solution("def kernel(X):\n    return X\n", language="tilelang")}
    answer = http.post("/evaluate", json=posted)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/solution/spec/language"


@pytest.mark.parametrize(
    ("uuids", "why"), [(["unknown"], "No workloads found"), (["w2"], "safetensors")]
)
def test_a_task_without_a_workload_to_evaluate_fails_and_says_why(
    http: httpx.Client, uuids: list[str], why: str
) -> None:
    posted = {"solution": solution("def kernel(X):\n    return X\n"), "workload_uuids": uuids}
    answer = http.post("/evaluate", json=posted)
    assert answer.status_code == 200, answer.text
    task = http.get(f"/tasks/{answer.json()['task_id']}", params={"timeout": 0}).json()
    assert (task["status"], task["definition"]) == ("failed", "scale")
    assert why in task["error"]
    assert task["solution"] == answer.json()["normalized_solution_name"]


@pytest.mark.parametrize("task_id", ["failed-", "failed-%25", "failed-e30", "failed-WzEsMiwzXQ"])
def test_an_id_that_was_not_given_out_is_not_found(http: httpx.Client, task_id: str) -> None:
    assert http.get(f"/tasks/{task_id}").status_code == 404


def test_a_task_is_asked_for_once(http: httpx.Client) -> None:
    answer = http.post("/tasks/batch", json={"task_ids": ["x", "y", "x"]})

    assert answer.status_code == 422
    assert "is listed twice" in answer.json()["detail"]


@pytest.mark.parametrize("said", [b"5", b"null", b"[1,2,3]", b'["a","b"]', b"[" * 900, b"\xff"])
def test_an_id_that_says_something_else_than_why_is_not_found(
    http: httpx.Client, said: bytes
) -> None:
    answer = http.get("/tasks/failed-" + base64.urlsafe_b64encode(said).decode().rstrip("="))

    assert answer.status_code == 404, answer.text
