"""Batches: many requests at once, each answered as if posted alone."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.launches import bodies as launch_bodies
from tests.integration.service.running import Deployment
from tests.integration.service.test_api_events import events_of

BATCHES = "/v1/batches"
QUICK = {"stop_after": "ttir"}
NO_COUNTS = dict.fromkeys(
    ("queued", "running", "succeeded", "completed", "failed", "cancelled", "refused"), 0
)


def post_batch(
    http: httpx.Client, *requests: Any, kind: str = "compilations", wait: float = 60
) -> httpx.Response:
    body = {"kind": kind, "requests": requests}
    return http.post(BATCHES, params={"wait": wait}, json=body)


@pytest.fixture(scope="module")
def mixed(http: httpx.Client) -> httpx.Response:
    """Return a batch: two equal kernels, a broken one, one without a target, and a non-object."""
    add = bodies.vector_add("in a batch", **QUICK)
    return post_batch(
        http,
        add | {"include": ["ttir"]},
        add,
        bodies.broken("unknown_name"),
        {"source": "pass"},
        "a kernel",
    )


def test_every_item_has_a_result_or_a_problem_at_its_index(mixed: httpx.Response) -> None:
    batch = mixed.json()

    assert mixed.status_code == 200
    assert mixed.headers["location"] == batch["url"] == f"{BATCHES}/{batch['id']}"
    assert [item["index"] for item in batch["items"]] == [0, 1, 2, 3, 4]
    assert [item["status"] for item in batch["items"]] == [200, 200, 200, 422, 422]
    assert [item["result"] is None for item in batch["items"]] == [False] * 3 + [True] * 2
    assert batch["counts"] == NO_COUNTS | {"succeeded": 2, "failed": 1, "refused": 2}
    assert batch["state"] == "completed"


def test_a_result_is_what_the_compilation_answers(
    mixed: httpx.Response, http: httpx.Client
) -> None:
    item = mixed.json()["items"][0]

    alone = http.get(item["url"], params={"include": "ttir"}).json()

    assert item["result"] | {"cache": None} == alone
    assert "tt.func public @add_kernel" in item["result"]["included"]["ttir"]


def test_a_kernel_that_does_not_compile_is_a_result(mixed: httpx.Response) -> None:
    failed = mixed.json()["items"][2]["result"]

    assert (failed["state"], failed["problem"]["slug"]) == ("failed", "compile_error")


def test_a_problem_points_into_the_request_of_its_item(mixed: httpx.Response) -> None:
    problem = mixed.json()["items"][3]["problem"]

    assert (problem["slug"], problem["retryable"]) == ("invalid_request", False)
    assert [error["pointer"] for error in problem["errors"]] == ["/target"]


def test_equal_items_are_compiled_once(mixed: httpx.Response) -> None:
    first, second = mixed.json()["items"][:2]

    assert first["url"] == second["url"]
    assert [first["result"]["cache"], second["result"]["cache"]] == ["miss", "join"]


def test_a_batch_can_be_had_again_and_without_results(
    mixed: httpx.Response, http: httpx.Client
) -> None:
    url = mixed.json()["url"]

    short = http.get(url, params={"results": "none"}).json()

    assert http.get(url).json() == mixed.json()
    assert short["counts"] == mixed.json()["counts"]
    assert all(item["result"] is None for item in short["items"])


def test_the_events_tell_each_item_and_the_end(mixed: httpx.Response, http: httpx.Client) -> None:
    events = events_of(http, mixed.json()["url"])

    assert sorted(event.data["index"] for event in events[:-1]) == [0, 1, 2, 3, 4]
    assert {event.kind for event in events[:-1]} == {"item"}
    assert events[-1].kind == "finished"
    assert events_of(http, mixed.json()["url"], after=events[3].id) == events[4:]


def test_a_batch_that_is_posted_again_is_all_hits(
    mixed: httpx.Response, http: httpx.Client
) -> None:
    batch = post_batch(http, *[bodies.vector_add("in a batch", **QUICK)] * 3, wait=0)

    assert batch.status_code == 200, "nothing had to be waited for"
    assert [item["result"]["cache"] for item in batch.json()["items"]] == ["hit"] * 3


def test_launches_come_in_batches_too(http: httpx.Client) -> None:
    add = launch_bodies.launch(
        launch_bodies.source("vector_add"),
        "add_kernel",
        {
            "x_ptr": launch_bodies.arange(64),
            "y_ptr": launch_bodies.arange(64),
            "output_ptr": launch_bodies.output(64),
            "n_elements": 64,
        },
        {"BLOCK_SIZE": 64},
        reference=launch_bodies.SUM,
    )

    batch = post_batch(http, add, add | {"grid": []}, kind="launches").json()

    assert batch["counts"] == NO_COUNTS | {"completed": 1, "refused": 1}
    launched = batch["items"][0]
    assert launched["result"]["verdict"] == "passed"
    assert http.get(launched["url"]).json() == launched["result"]
    assert batch["items"][1]["problem"]["errors"][0]["pointer"] == "/grid"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"requests": [{}]}, "/kind"),
        ({"kind": "kernels", "requests": [{}]}, "/kind"),
        ({"kind": "compilations", "requests": []}, "/requests"),
        ({"kind": "compilations", "requests": [{}] * 1001}, "/requests"),
        ({"kind": "compilations", "requests": [{}], "wait": 3}, "/wait"),
    ],
)
def test_a_body_that_is_no_batch_is_refused(
    http: httpx.Client, body: dict[str, Any], pointer: str
) -> None:
    answer = http.post(BATCHES, json=body)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("compilations", bodies.vector_add("wrong") | {"signature": ",".join(["*fp33"] * 60)}),
        ("launches", {"grid": [1], "arguments": {f"a{n}": {"dtype": "fp33"} for n in range(60)}}),
    ],
)
def test_items_behind_very_many_faults_are_not_looked_at(
    http: httpx.Client, kind: str, wrong: dict[str, Any]
) -> None:
    """Each error takes time: of a thousand wrong items a batch reports only the first ones."""
    batch = post_batch(http, *[wrong] * 1000, kind=kind).json()

    problems = [item["problem"] for item in batch["items"]]
    assert batch["counts"] == NO_COUNTS | {"refused": 1000}
    assert sum(len(problem["errors"] or ()) for problem in problems) < 4000
    assert problems[0]["errors"]
    assert "was not checked" in problems[-1]["detail"]


def test_a_batch_belongs_to_its_caller(callers: dict[str, httpx.Client]) -> None:
    posted = post_batch(callers["alice"], bodies.vector_add("alice's batch"), wait=0)
    url = posted.json()["url"]

    assert posted.status_code == 202
    assert callers["bob"].get(url).status_code == 404
    assert callers["bob"].delete(url).status_code == 404
    assert callers["bob"].get(f"{url}/events").status_code == 404
    assert callers["alice"].get(url).json()["counts"]["queued"] == 1


def test_each_kind_needs_its_scope(callers: dict[str, httpx.Client]) -> None:
    compiling = post_batch(callers["runner"], bodies.vector_add("no"), wait=0)
    launching = post_batch(callers["alice"], {}, kind="launches", wait=0)

    assert (compiling.status_code, launching.status_code) == (403, 403)
    assert "'compile'" in compiling.json()["detail"]


def test_what_finds_no_room_in_the_queue_is_a_problem_and_the_rest_goes_on(
    callers: dict[str, httpx.Client],
) -> None:
    requests = [bodies.vector_add(f"crowd {number}") for number in range(6)]

    batch = post_batch(callers["alice"], *requests, wait=0).json()

    assert batch["counts"] == NO_COUNTS | {"queued": 4, "refused": 2}
    problem = next(item["problem"] for item in batch["items"] if item["problem"])
    assert (problem["slug"], problem["limit"]) == ("too_many_requests", 4)
    assert problem["retryable"]
    assert problem["retry_after_s"] > 0


def test_deleting_a_batch_cancels_what_is_left(callers: dict[str, httpx.Client]) -> None:
    requests = [bodies.vector_add(f"cancelled {number}") for number in range(3)]
    url = post_batch(callers["alice"], *requests, wait=0).json()["url"]
    callers["bob"].post("/v1/compilations", json=requests[0])

    deleted = callers["alice"].delete(url)

    assert deleted.status_code == 202
    assert deleted.json()["counts"] == NO_COUNTS | {"cancelled": 3}
    batch = callers["alice"].get(url).json()
    assert [item["result"]["state"] for item in batch["items"]] == ["cancelled"] * 3
    assert callers["bob"].get(batch["items"][0]["url"]).json()["state"] == "queued"
    assert callers["alice"].delete(url).status_code == 200


def test_items_go_behind_interactive_work(callers: dict[str, httpx.Client]) -> None:
    batch = post_batch(callers["alice"], bodies.vector_add("no hurry"), wait=0).json()
    now = callers["bob"].post("/v1/compilations", json=bodies.vector_add("now")).json()

    assert now["queue_position"] == 1
    assert callers["alice"].get(batch["items"][0]["url"]).json()["queue_position"] == 2


def test_a_batch_outlives_the_service(idle: Deployment, callers: dict[str, httpx.Client]) -> None:
    url = post_batch(callers["alice"], bodies.vector_add("kept"), {}, wait=0).json()["url"]

    idle.stop_service()
    idle.start_service()

    batch = callers["alice"].get(url).json()
    assert batch["counts"] == NO_COUNTS | {"queued": 1, "refused": 1}


def test_a_batch_to_which_nothing_has_happened_can_be_followed(
    callers: dict[str, httpx.Client],
) -> None:
    url = post_batch(callers["alice"], bodies.vector_add("not yet"), wait=0).json()["url"]

    with callers["alice"].stream("GET", f"{url}/events") as answer:
        assert answer.status_code == 200


def test_waiting_ends_with_the_wait(callers: dict[str, httpx.Client]) -> None:
    started = time.monotonic()

    batch = post_batch(callers["alice"], bodies.vector_add("never done"), wait=0.3)

    assert batch.status_code == 202
    assert batch.headers["retry-after"] == "1"
    assert time.monotonic() - started >= 0.3


def test_equal_requests_in_a_batch_and_alone_are_one_job(post: Post, http: httpx.Client) -> None:
    body = bodies.vector_add("alone and in a batch", **QUICK)
    key = post(body).json()["key"]

    batch = post_batch(http, body).json()

    assert batch["items"][0]["result"]["key"] == key
