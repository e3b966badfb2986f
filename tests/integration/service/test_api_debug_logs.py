"""Debug logs of service and worker: the steps of a job, found by its id."""

from __future__ import annotations

from collections.abc import Callable

import httpx

from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

STEPS = (
    "of a compilation: namespace=",
    "submitted as a compilation, miss, for request run-debug-1",
    "claimed from compile:",
    "back child started on",
    "stage ptx, ",
    "back child ended: ok, ",
    "finished with a record of ",
    "answered as succeeded, for request run-debug-1",
)


def test_one_search_for_its_id_follows_a_job(
    with_keys: Deployment, teams: Callable[[str], httpx.Client]
) -> None:
    source = bodies.vector_add("of a job with CANARY-in-source")
    # IR that no other test of this deployment compiles, since a known one starts no back child
    source["source"] = source["source"].replace("x + y", "x + y + 0.625")
    headers = {"X-Request-ID": "run-debug-1"}
    query = "/v1/compilations?wait=60"
    key = teams("alice").post(query, json=source, headers=headers).json()["key"]
    about = lambda: [line for line in with_keys.said().splitlines() if key in line]  # noqa: E731

    for step in STEPS:
        wait_until(lambda step=step: any(step in line for line in about()), step, with_keys.said)
    assert "CANARY-in-source" not in with_keys.said()


def test_a_request_s_lines_name_its_job_and_no_api_key(
    with_keys: Deployment, teams: Callable[[str], httpx.Client]
) -> None:
    source = bodies.vector_add("posted twice")
    alice = teams("alice")
    alice.post("/v1/compilations?wait=60", json=source).raise_for_status()
    again = alice.post("/v1/compilations", json=source, headers={"X-Request-ID": "run-debug-2"})

    key = again.json()["key"]
    said = with_keys.said()
    assert "request run-debug-2: received POST /v1/compilations" in said
    assert f"job {key}: hit by its key, for request run-debug-2" in said
    assert "request run-debug-2: answered 200, " in said
    assert alice.headers["authorization"].removeprefix("Bearer ") not in said
