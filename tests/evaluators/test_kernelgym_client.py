"""KernelGYM's reward client, by its requests: payload, order and fields that it reads.

The client is on GitHub only (drkernel/kernel/rewards/reward_client.py, with ray and verl), so its
requests are copied here.
"""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest


def payload(task_id: str, reference: str, kernel: str) -> dict[str, Any]:
    """Return the payload of `KernelRewardClient.compute_batch_rewards` for a task."""
    return {
        "task_id": task_id,
        "reference_code": reference,
        "kernel_code": kernel,
        "backend": "triton",
        "num_correct_trials": 5,
        "num_perf_trials": 100,
        "timeout": 300,
        "priority": "normal",
        "entry_point": "Model",
        "is_valid": False,
        "verbose_errors": True,
        "enable_profiling": True,
        "detect_decoy_kernel": True,
        "reference_backend": None,
    }


def submit_and_poll(http: httpx.Client, task: dict[str, Any]) -> dict[str, Any]:
    """Post, ask for the status every second and fetch the result, like its worker."""
    posted = http.post("/evaluate", json=task)
    posted.raise_for_status()
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        status = http.get(f"/status/{task['task_id']}").raise_for_status().json()
        if status["status"] == "completed":
            result = http.get(f"/results/{task['task_id']}").raise_for_status().json()
            return result | {"status": "completed"}
        if status["status"] in {"failed", "timeout", "cancelled"}:
            return {"status": status["status"], "error_message": status["error_message"]}
        time.sleep(1)
    raise TimeoutError(task["task_id"])


def reward_speedup(result: dict[str, Any]) -> float:
    """Read a result like `calculate_reward_speedup`, with weights of 1."""
    if result.get("status") != "completed" or result.get("decoy_kernel", False):
        return -1.0
    return result.get("correctness", False) + (result.get("speedup") or 0.0)


@pytest.mark.parametrize(
    ("name", "correct", "decoy", "reward"),
    [
        ("rms_norm", True, False, 1.0),
        ("rms_norm_wrong", False, False, 0.0),
        ("rms_norm_cheat", False, True, -1.0),
    ],
)
def test_its_rewards_are_those_of_the_programs(
    http: httpx.Client,
    programs: dict[str, str],
    name: str,
    correct: bool,
    decoy: bool,
    reward: float,
) -> None:
    task = payload(f"task_{name}", programs["rms_norm_reference"], programs[name])
    result = submit_and_poll(http, task)
    assert result["compiled"] is True, result
    assert (result["correctness"], result["decoy_kernel"]) == (correct, decoy), result
    assert reward_speedup(result) == reward


def test_a_candidate_that_raises_is_a_result_with_its_line(
    http: httpx.Client, programs: dict[str, str]
) -> None:
    kernel = programs["rms_norm"].replace("x = x.contiguous()", "x = x.contigous()")
    result = submit_and_poll(http, payload("raises", programs["rms_norm_reference"], kernel))
    assert (result["status"], result["compiled"], result["correctness"]) == (
        "completed",
        False,
        False,
    )
    assert "contigous" in result["error_message"]
    assert "user.py:" in result["error_message"]


def test_a_task_posted_again_is_the_same_one(http: httpx.Client, programs: dict[str, str]) -> None:
    task = payload("again", programs["rms_norm_reference"], programs["rms_norm"])
    first = http.post("/evaluate", json=task).json()["metadata"]["program"]
    assert http.post("/evaluate", json=task).json()["metadata"]["program"] == first
    other = task | {"kernel_code": programs["rms_norm_wrong"]}
    assert http.post("/evaluate", json=other).status_code == 422
    forced = http.post("/evaluate", json=other | {"force_refresh": True}).json()
    assert forced["correctness"] is False


def test_a_batch_has_the_results_of_all(http: httpx.Client, programs: dict[str, str]) -> None:
    names = ("rms_norm", "rms_norm_wrong")
    reference = programs["rms_norm_reference"]
    tasks = [payload(f"batch_{name}", reference, programs[name]) for name in names]
    answer = http.post("/evaluate/batch", json={"batch_id": "b", "tasks": tasks}).json()
    assert [result["correctness"] for result in answer["results"]] == [True, False]
    assert (answer["completed_tasks"], answer["batch_status"]) == (2, "completed")
