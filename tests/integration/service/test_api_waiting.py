"""Waiting: `?wait=S`, `Prefer: wait=S`, or not at all."""

from __future__ import annotations

import time

import httpx

from tests.integration.service import bodies
from tests.integration.service.conftest import Post

SLOW_S = 1.5


def test_without_waiting_the_answer_comes_at_once_and_the_result_by_get(
    post: Post, http: httpx.Client
) -> None:
    posted = post(bodies.slow(SLOW_S, "not waited for"), wait=0)
    under_way = http.get(posted.headers["location"])
    result = http.get(posted.headers["location"], params={"wait": 60})

    assert posted.status_code == 202
    assert posted.json()["state"] in {"queued", "running"}
    assert int(posted.headers["retry-after"]) > 0
    assert under_way.status_code == 200
    assert under_way.json()["state"] in {"queued", "running"}
    assert int(under_way.headers["retry-after"]) > 0
    assert result.json()["state"] == "succeeded"
    assert "retry-after" not in result.headers


def test_waiting_ends_when_the_time_is_over(post: Post, http: httpx.Client) -> None:
    started = time.monotonic()
    posted = post(bodies.slow(SLOW_S, "waited for too shortly"), wait=0.2)
    waited_s = time.monotonic() - started
    http.get(posted.headers["location"], params={"wait": 60})

    assert posted.status_code == 202
    assert posted.json()["state"] in {"queued", "running"}
    assert waited_s >= 0.2


def test_an_artifact_of_work_under_way_is_not_finished(post: Post, http: httpx.Client) -> None:
    posted = post(bodies.slow(SLOW_S, "artifact too early"), wait=0).json()
    early = http.get(f"{posted['url']}/artifacts/ttir")
    http.get(posted["url"], params={"wait": 60})

    assert (early.status_code, early.json()["slug"]) == (409, "not_finished")
    assert http.get(f"{posted['url']}/artifacts/ttir").status_code == 200


def test_a_preference_to_wait_is_acknowledged(http: httpx.Client) -> None:
    body = bodies.vector_add("preferred")

    answer = http.post("/v1/compilations", json=body, headers={"Prefer": "wait=30"})

    assert answer.status_code == 200
    assert answer.headers["preference-applied"] == "wait=30"


def test_a_longer_wait_than_allowed_is_clamped(http: httpx.Client) -> None:
    body = bodies.vector_add("preferred")

    answer = http.post("/v1/compilations", json=body, headers={"Prefer": "wait=100000"})

    assert answer.headers["preference-applied"] == "wait=60"
