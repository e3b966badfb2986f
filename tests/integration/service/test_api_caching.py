"""ETags of results, and which of them clients may keep."""

from __future__ import annotations

import httpx

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.launches import bodies as launch_bodies

QUICK = {"stop_after": "ttir"}
FINAL, REVALIDATED = "private, max-age=86400, immutable", "private, no-cache"


def assert_not_modified(http: httpx.Client, url: str, caching: str) -> None:
    answer = http.get(url)
    again = http.get(url, headers={"If-None-Match": answer.headers["etag"]})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, caching)
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == answer.headers["etag"]


def test_a_launch_that_is_over_is_immutable(http: httpx.Client) -> None:
    posted = http.post("/v1/launches", params={"wait": 60}, json=launch_bodies.vector_add())
    assert_not_modified(http, posted.json()["url"], FINAL)


def test_a_launch_that_is_not_over_is_asked_for_again(http: httpx.Client) -> None:
    slow = bodies.slow(1, "not over")
    del slow["stop_after"]
    body = {"compilation": slow, "device": "cpu", "grid": [1]}
    body["arguments"] = {"x_ptr": launch_bodies.output(64)}
    posted = http.post("/v1/launches", json=body)
    url = posted.headers["location"]

    assert http.get(url).headers["cache-control"] == REVALIDATED
    http.get(url, params={"wait": 60})
    assert http.get(url).headers["cache-control"] == FINAL


def test_a_compilation_and_a_batch_are_revalidated(http: httpx.Client, post: Post) -> None:
    url = post(bodies.vector_add("revalidated", **QUICK)).json()["url"]
    body = {"kind": "compilations", "requests": [bodies.vector_add("revalidated", **QUICK)]}
    batch = http.post("/v1/batches", params={"wait": 60}, json=body).json()

    assert_not_modified(http, url, REVALIDATED)
    assert_not_modified(http, batch["url"], REVALIDATED)
