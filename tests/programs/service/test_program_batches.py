"""Programs in batches behave as if posted alone.

A script ends them; nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from launch.request.verdict import Verdict
from programs.program_request import EXAMPLE
from tests.programs.service.conftest import PROGRAMS, ScriptedRecorder

BATCHES = "/v1/batches"


def post(http: httpx.Client, *requests: Any) -> dict[str, Any]:
    answer = http.post(BATCHES, json={"kind": "programs", "requests": requests})
    assert answer.status_code in {200, 202}, answer.text
    batch: dict[str, Any] = answer.json()
    return batch


def test_every_item_has_a_program_or_a_problem(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    batch = post(alice, EXAMPLE, EXAMPLE | {"device": "gpu"}, "a program")
    recorder.do(verdict=Verdict.PASSED)

    over = alice.get(batch["url"], params={"wait": 30}).json()

    assert [item["status"] for item in over["items"]] == [200, 422, 422]
    first, second, _ = over["items"]
    assert first["result"]["verdict"] == "passed"
    assert first["url"] == first["result"]["url"] == f"{PROGRAMS}/{first['result']['id']}"
    assert alice.get(first["url"]).json() == first["result"]
    assert second["problem"]["errors"][0]["pointer"] == "/device"
    assert (over["state"], over["counts"]["completed"], over["counts"]["refused"]) == (
        "completed",
        1,
        2,
    )


def test_equal_items_without_a_seed_share_a_run(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    seeded = EXAMPLE | {"seed": 7}
    refused = EXAMPLE | {"device": "gpu"}
    batch = post(alice, EXAMPLE, seeded, EXAMPLE, seeded, refused, refused)
    for _ in range(3):
        recorder.do(verdict=Verdict.PASSED)

    over = alice.get(batch["url"], params={"wait": 30}).json()

    assert over["counts"]["completed"] == 4
    assert over["counts"]["refused"] == 2
    first, second, equal, fourth, *_ = (item["url"] for item in over["items"])
    assert equal == first
    assert len({first, second, fourth}) == 3


def test_what_is_left_of_a_batch_is_cancelled(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    batch = post(alice, EXAMPLE, EXAMPLE | {"trials": 2})
    recorder.do()

    cancelled = alice.delete(batch["url"])

    assert cancelled.status_code == 202
    assert (cancelled.json()["state"], cancelled.json()["counts"]["cancelled"]) == ("completed", 1)
    results = alice.get(batch["url"]).json()["items"]
    assert sorted(item["result"]["state"] for item in results) == ["cancelled", "completed"]


def test_items_wait_behind_what_is_interactive(
    alice: httpx.Client, recorder: ScriptedRecorder
) -> None:
    batch = post(alice, EXAMPLE)
    single = alice.post(PROGRAMS, json=EXAMPLE).json()

    assert recorder.do().id == single["id"]
    assert alice.get(batch["url"]).json()["counts"]["queued"] == 1


def test_only_who_may_launch_may_post_a_batch_of_them(
    asking: Callable[[str], httpx.Client],
) -> None:
    answer = asking("compiler").post(BATCHES, json={"kind": "programs", "requests": [EXAMPLE]})

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")
