"""Requests for one compilation are independent: the longest deadline counts."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from store import keys
from store.connection import connect
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment
from tests.waiting import wait_until


def slow(comment: str, duration_s: float = 1.5) -> dict[str, Any]:
    """Return a kernel that takes long to compile."""
    return bodies.slow(duration_s, comment)


def is_running(http: httpx.Client, url: str) -> bool:
    return bool(http.get(url).json()["state"] == "running")


def interests(system: Deployment, url: str) -> int:
    """Return the number of interests in the job: its posters and each waiting request."""

    async def count() -> int:
        async with connect(system.redis_url) as redis:
            return len(await redis.hkeys(keys.INTERESTS + url.rpartition("/")[2]))

    return asyncio.run(count())


def test_an_impatient_refresh_does_not_end_another_caller_s_work(
    post: Post, http: httpx.Client
) -> None:
    body = slow("refreshed by another")
    url = post(body, wait=0).json()["url"]
    wait_until(lambda: is_running(http, url), "it runs")

    joined = post(body | {"refresh": True, "timeout_s": 0.001}, wait=0)
    answer = http.get(url, params={"wait": 60}).json()

    assert joined.headers["cache-status"] == "tritond; collapsed"
    assert answer["state"] == "succeeded"


def test_a_patient_request_that_joins_lets_the_attempt_run_on(
    post: Post, http: httpx.Client
) -> None:
    body = slow("joined by a patient one", 3)
    url = post(body | {"timeout_s": 2}, wait=0).json()["url"]
    wait_until(lambda: is_running(http, url), "it runs")

    answer = post(body, wait=60).json()

    assert answer["cache"] == "join"
    assert answer["state"] == "succeeded"


def test_an_impatient_request_that_joins_imposes_nothing(post: Post, http: httpx.Client) -> None:
    body = slow("joined by an impatient one")
    url = post(body, wait=0).json()["url"]

    post(body | {"timeout_s": 0.001}, wait=0)

    assert http.get(url, params={"wait": 60}).json()["state"] == "succeeded"


def test_a_refresh_that_waits_gets_what_was_compiled_for_it(post: Post, http: httpx.Client) -> None:
    body = slow("compiled twice", 0.8)
    first_url = post(body, wait=0).json()["url"]
    wait_until(lambda: is_running(http, first_url), "it runs")

    with ThreadPoolExecutor() as threads:
        waiting: Future[dict[str, Any]] = threads.submit(
            lambda: http.get(first_url, params={"wait": 60}).json()
        )
        fresh = post(body | {"refresh": True}).json()

    assert waiting.result()["state"] == fresh["state"] == "succeeded"
    assert fresh["cache"] == "miss"
    assert fresh["timings_ms"] != waiting.result()["timings_ms"]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_one_process_waits_for_another_one_cannot_cancel(
    system: Deployment, post: Post, http: httpx.Client, method: str
) -> None:
    """Both use the same API key, here none."""
    body = slow(f"waited for with {method}")
    url = post(body, wait=0).json()["url"]
    path = "/v1/compilations" if method == "POST" else url

    def wait() -> dict[str, Any]:
        with system.client() as other:
            json = body if method == "POST" else None
            answer: dict[str, Any] = other.request(method, f"{path}?wait=60", json=json).json()
            return answer

    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(wait)
        wait_until(lambda: is_running(http, url), "it runs")
        wait_until(lambda: interests(system, url) == 2, "the other process waits")
        withdrawn = http.delete(url)

    assert (withdrawn.status_code, withdrawn.json()["state"]) == (202, "running")
    assert waiting.result()["state"] == "succeeded"


def test_a_client_that_hangs_up_and_withdraws_stops_the_work(
    system: Deployment, post: Post, http: httpx.Client
) -> None:
    body = slow("hung up on", 60)
    impatient = httpx.Timeout(60, read=0.5)
    with system.client() as other, pytest.raises(httpx.ReadTimeout):
        other.post("/v1/compilations?wait=60", json=body, timeout=impatient)
    url = post(body, wait=0).json()["url"]

    http.delete(url)

    wait_until(lambda: http.get(url).json()["state"] == "cancelled", "it is cancelled", within_s=30)
