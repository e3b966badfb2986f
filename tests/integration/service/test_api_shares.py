"""One caller's long jobs do not block another caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from tests.integration.service import bodies
from tests.waiting import wait_until


def long(comment: str, **changes: Any) -> dict[str, Any]:
    return bodies.running(f"{bodies.ENDLESS}  # {comment}", **changes)


def test_one_caller_s_endless_jobs_in_all_slots_leave_room_for_another(
    teams: Callable[[str], httpx.Client],
) -> None:
    urls = [teams("alice").post("/v1/compilations", json=long(n)).json()["url"] for n in "abc"]
    running = [
        lambda url=url: teams("alice").get(url).json()["state"] == "running" for url in urls[:2]
    ]
    wait_until(lambda: all(is_running() for is_running in running), "both slots are taken")

    body = bodies.vector_add("beside endless ones")
    answer = teams("bob").post("/v1/compilations?wait=60", json=body).json()
    third = teams("alice").get(urls[2]).json()["state"]
    for url in urls:
        teams("alice").delete(url)

    assert answer["state"] == "succeeded"
    assert third == "queued", "the slot that is kept is not for her"


def test_endless_batch_work_leaves_room_for_its_own_caller_s_interactive_work(
    teams: Callable[[str], httpx.Client],
) -> None:
    requests = [long(n, target="cuda:80") for n in "abc"]
    batch = teams("alice").post("/v1/batches", json={"kind": "compilations", "requests": requests})
    url = batch.json()["url"]
    wait_until(
        lambda: teams("alice").get(url).json()["counts"]["running"] == 2, "both slots are taken"
    )

    body = bodies.vector_add("beside a batch")
    answer = teams("alice").post("/v1/compilations?wait=60", json=body).json()
    teams("alice").delete(url)

    assert answer["state"] == "succeeded"
