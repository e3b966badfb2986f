"""Ownership of launches and tensors, idempotency keys, cancelling, and a queue without workers."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from store.connection import connect
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, SubmitOutcome
from tests.integration.service.bodies import ENDLESS
from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

PATH = "/v1/launches"
UNENDING = bodies.loading(ENDLESS, timeout_s=60)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("DELETE", ""),
        ("GET", "/events"),
        ("GET", "/outputs/output_ptr"),
        ("GET", "/trace"),
    ],
)
def test_another_caller_s_launch_is_404(
    callers: dict[str, httpx.Client], method: str, path: str
) -> None:
    url = callers["alice"].post(PATH, json=bodies.vector_add()).json()["url"]

    answer = callers["bob"].request(method, url + path)

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")
    assert callers["alice"].get(url).json()["state"] == "queued"


def test_a_query_for_another_caller_s_launch_is_404(callers: dict[str, httpx.Client]) -> None:
    launched = callers["alice"].post(PATH, json=bodies.vector_add()).json()

    answer = callers["bob"].post(f"{PATH}/query", json={"ids": [launched["id"]]})

    assert answer.status_code == 404


def test_launching_needs_its_scope(callers: dict[str, httpx.Client]) -> None:
    answer = callers["carol"].post(PATH, json=bodies.vector_add())

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")


def test_without_a_key_there_is_401(keyed: Deployment) -> None:
    with keyed.client() as http:
        assert http.post(PATH, json=bodies.vector_add()).status_code == 401
        assert http.put("/v1/tensors/sha256:0", content=b"").status_code == 401


def test_a_queued_launch_says_its_place_and_has_every_field(
    callers: dict[str, httpx.Client],
) -> None:
    first = callers["alice"].post(PATH, json=bodies.vector_add())
    second = callers["alice"].post(PATH, json=bodies.vector_add()).json()

    assert first.status_code == 202
    assert (first.json()["queue_position"], second["queue_position"]) == (1, 2)
    assert second["state"] == "queued"
    for name in ("verdict", "outputs", "findings", "cases", "timing", "timings_ms", "problem"):
        assert second[name] is None


def test_a_queued_launch_is_cancelled_at_once(callers: dict[str, httpx.Client]) -> None:
    alice = callers["alice"]
    url = alice.post(PATH, json=bodies.vector_add()).json()["url"]

    cancelled, again = alice.delete(url), alice.delete(url)

    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "cancelled")
    assert cancelled.json()["problem"]["slug"] == "cancelled"
    assert again.status_code == 200
    assert alice.get(url, params={"wait": 5}).json()["verdict"] is None


def test_a_caller_may_queue_so_many_launches(callers: dict[str, httpx.Client]) -> None:
    alice = callers["alice"]
    answers = [alice.post(PATH, json=bodies.vector_add()) for _ in range(4)]

    assert [answer.status_code for answer in answers] == [202, 202, 202, 429]
    assert answers[3].headers["retry-after"]
    assert callers["bob"].post(PATH, json=bodies.vector_add()).status_code == 202


def test_the_same_key_and_body_mean_the_same_launch(callers: dict[str, httpx.Client]) -> None:
    headers = {"idempotency-key": "twice"}
    body = bodies.vector_add()
    reordered = dict(reversed(body.items()))
    posts = [callers["alice"].post(PATH, json=one, headers=headers) for one in (body, reordered)]

    assert posts[0].json()["id"] == posts[1].json()["id"]
    assert posts[1].headers["location"] == posts[0].headers["location"]


def test_a_key_is_its_callers_own(callers: dict[str, httpx.Client]) -> None:
    headers = {"idempotency-key": "shared"}
    ids = {
        callers[name].post(PATH, json=bodies.vector_add(), headers=headers).json()["id"]
        for name in ("alice", "bob")
    }

    assert len(ids) == 2


def test_the_same_key_with_another_body_is_refused(callers: dict[str, httpx.Client]) -> None:
    headers = {"idempotency-key": "reused"}
    callers["alice"].post(PATH, json=bodies.vector_add(), headers=headers)

    answer = callers["alice"].post(PATH, json=bodies.vector_add(99), headers=headers)

    assert answer.status_code == 422
    assert answer.json()["parameter"] == "Idempotency-Key"


def test_a_refused_body_does_not_use_the_key_up(callers: dict[str, httpx.Client]) -> None:
    headers, wrong = {"idempotency-key": "mended"}, bodies.vector_add(grid=["nonsense("])
    alice = callers["alice"]

    refused = [alice.post(PATH, json=wrong, headers=headers).status_code for _ in "ab"]
    mended = alice.post(PATH, json=bodies.vector_add(), headers=headers)

    assert refused == [422, 422]
    assert mended.status_code == 202


@pytest.mark.parametrize("key", ["", "two words", "x" * 256])
def test_a_key_is_visible_ascii(callers: dict[str, httpx.Client], key: str) -> None:
    headers = {"idempotency-key": key}

    answer = callers["alice"].post(PATH, json=bodies.vector_add(), headers=headers)

    assert answer.status_code == 422
    assert answer.json()["parameter"] == "Idempotency-Key"


def test_a_finished_launch_is_answered_to_its_key(http: httpx.Client) -> None:
    headers, wait = {"idempotency-key": "finished"}, {"wait": 60}
    posts = [http.post(PATH, json=bodies.vector_add(), headers=headers, params=wait) for _ in "ab"]

    assert [post.status_code for post in posts] == [200, 200]
    assert posts[0].json() == posts[1].json()


async def test_a_late_submitter_of_a_launch_gets_its_result(
    system: Deployment, launch: Launch
) -> None:
    # two posts with one Idempotency-Key; one looks before the other has finished
    done = launch(bodies.vector_add())

    async with connect(system.redis_url) as redis:
        late = await JobProducer(redis).submit(
            done["id"], lane="launch:nowhere", priority=Priority.INTERACTIVE, payload=b"{}",
            caller="loopback", deadline_ms=1000,
        )  # fmt: skip

    assert late.outcome is SubmitOutcome.HIT
    assert json.loads(late.record or b"") == done


def test_a_running_launch_is_cancelled_and_its_slot_is_free(
    http: httpx.Client, launch: Launch
) -> None:
    urls = [launch(UNENDING, wait=0)["url"] for _ in range(2)]
    wait_until(lambda: all(state(http, url) == "running" for url in urls), "both run")

    answers = [http.delete(url) for url in urls]

    assert [answer.status_code for answer in answers] == [202, 202]
    assert {answer.json()["state"] for answer in answers} == {"cancelled"}
    assert launch(bodies.vector_add(), wait=20)["verdict"] == "passed"


def state(http: httpx.Client, url: str) -> Any:
    return http.get(url).json()["state"]


def test_deleting_a_finished_launch_changes_nothing(http: httpx.Client, launch: Launch) -> None:
    done = launch(bodies.vector_add())

    answer = http.delete(done["url"])

    assert answer.status_code == 200
    assert answer.json() == done


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_launch_that_never_was_is_404(http: httpx.Client, method: str) -> None:
    answer = http.request(method, f"{PATH}/{'0' * 32}")

    assert (answer.status_code, answer.json()["slug"]) == (404, "not_found")


def test_a_path_upwards_is_no_output(http: httpx.Client, launch: Launch) -> None:
    body = bodies.written(
        "@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr, 1.0)\n",
        {"out_ptr": output(1)},
        **{"return": {"out_ptr": "tensor"}},
    )
    url = launch(body)["outputs"]["out_ptr"]["url"]

    assert http.get(url.replace("out_ptr", "..%2f..")).status_code == 404
