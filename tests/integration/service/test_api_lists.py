"""Lists of one's own: newest first, in pages, by state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.launches import bodies as launch_bodies

QUICK = {"stop_after": "ttir"}
MEMBERS = {
    "id", "url", "state", "created_at", "kind", "kernel", "target", "verdict", "slug", "detail",
    "counts",
}  # fmt: skip


def items(http: httpx.Client, collection: str, **query: Any) -> list[dict[str, Any]]:
    answer = http.get(f"/v1/{collection}", params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_the_newest_compilation_comes_first_in_short(http: httpx.Client, post: Post) -> None:
    broken = bodies.broken("unknown_name")
    failed = post(broken | {"source": broken["source"] + "\n# listed\n"}).json()
    added = post(bodies.vector_add("in a list", **QUICK)).json()

    newest, before = items(http, "compilations", limit=2)

    assert newest.keys() == MEMBERS
    assert (newest["id"], newest["url"], newest["state"]) == (
        added["key"],
        added["url"],
        "succeeded",
    )
    assert (newest["kernel"], newest["target"]) == ("add_kernel", "cuda:90")
    assert (before["id"], before["state"]) == (failed["key"], "failed")
    assert (newest["slug"], newest["detail"]) == (None, None)
    assert (before["slug"], before["detail"]) == (
        failed["problem"]["slug"],
        failed["problem"]["detail"].partition("\n")[0],
    )
    assert newest["created_at"] >= before["created_at"] > "2026"


def test_a_hit_is_listed_for_the_caller_who_gets_it(teams: Callable[[str], httpx.Client]) -> None:
    body = bodies.vector_add("listed for two", **QUICK)
    posted = {"params": {"wait": 60}, "json": body}
    key = teams("alice").post("/v1/compilations", **posted).json()["key"]
    assert key not in [item["id"] for item in items(teams("bob"), "compilations")]

    assert teams("bob").post("/v1/compilations", **posted).json()["cache"] == "hit"

    assert items(teams("bob"), "compilations")[0]["id"] == key
    assert key not in [item["id"] for item in items(teams("eve"), "compilations")]


def test_a_launch_is_listed_with_its_verdict(http: httpx.Client) -> None:
    body = launch_bodies.vector_add()
    body["compilation"].pop("kernel", None)
    launch = http.post("/v1/launches", params={"wait": 60}, json=body).json()

    item = items(http, "launches", limit=1)[0]

    assert (item["id"], item["verdict"], item["counts"]) == (
        launch["id"],
        launch["verdict"],
        launch["counts"],
    )
    assert (item["kernel"], launch["kernel"]) == ("add_kernel", "add_kernel")


def test_a_batch_is_listed_with_its_counts_and_its_items_are(http: httpx.Client) -> None:
    requests = [bodies.vector_add("item of a list", **QUICK), {"source": "pass"}]
    body = {"kind": "compilations", "requests": requests}
    batch = http.post("/v1/batches", params={"wait": 60}, json=body).json()

    item = items(http, "batches", limit=1)[0]

    assert (item["id"], item["kind"], item["state"]) == (batch["id"], "compilations", "completed")
    assert item["counts"] == {"succeeded": 1, "refused": 1, "left": 0}
    assert items(http, "compilations", limit=1)[0]["url"] == batch["items"][0]["url"]


def test_pages_follow_one_another_to_the_end(teams: Callable[[str], httpx.Client]) -> None:
    alice = teams("alice")
    for n in range(3):
        alice.post("/v1/compilations", json=bodies.vector_add(f"page {n}", **QUICK))
    everything = [item["id"] for item in items(alice, "compilations", limit=100)]

    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = alice.get("/v1/compilations", params=query).json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        query["after"] = page["next"]

    assert seen == everything
    assert len(seen) >= 3


def test_a_list_has_only_ids_with_a_prefix(teams: Callable[[str], httpx.Client]) -> None:
    alice = teams("alice")
    keys = [
        alice.post("/v1/compilations", json=bodies.vector_add(f"prefix {n}", **QUICK)).json()["key"]
        for n in range(3)
    ]

    for key in keys:
        found = [item["id"] for item in items(alice, "compilations", prefix=key[:12])]
        assert found == [key]


@pytest.mark.parametrize("state", ["succeeded", "completed"])
def test_a_filter_by_state_takes_both_words_for_success(
    http: httpx.Client, post: Post, state: str
) -> None:
    key = post(bodies.vector_add("to filter", **QUICK)).json()["key"]
    post(bodies.broken("unknown_name"))

    found = items(http, "compilations", state=state, limit=1)

    assert [item["id"] for item in found] == [key]
    assert {i["state"] for i in items(http, "compilations", state="failed")} == {"failed"}


def test_a_queued_compilation_is_listed(callers: dict[str, httpx.Client]) -> None:
    alice = callers["alice"]
    key = alice.post("/v1/compilations", json=bodies.good("vector_add")).json()["key"]

    item = items(alice, "compilations", state="queued")[0]

    assert (item["id"], item["state"], item["target"]) == (key, "queued", "cuda:90")


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ({"after": "nonsense"}, "after"),
        ({"after": "MTIzOi4uLw"}, "after"),  # 123:../
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"state": "done"}, "state"),
        ({"prefix": "xyz"}, "prefix"),
        ({"page": 2}, "page"),
    ],
)
@pytest.mark.parametrize(
    "collection", ["compilations", "launches", "programs", "proofs", "batches", "sweeps"]
)
def test_a_wrong_query_is_refused(
    http: httpx.Client, collection: str, query: dict[str, Any], parameter: str
) -> None:
    answer = http.get(f"/v1/{collection}", params=query)

    assert (answer.status_code, answer.json()["slug"]) == (422, "invalid_request")
    assert answer.json()["parameter"] == parameter
