"""Accounts of callers, limits of keys, metrics of workers and log lines."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from tritonc import Client

from service.routes.usage import MAX_AMOUNTS
from store import keys
from store.api_keys import ApiKeys
from store.connection import StoreClient, connect
from tests.cases import slow_except
from tests.integration.service import bodies
from tests.integration.service.conftest import ADMIN_KEY
from tests.integration.service.running import Deployment, free_port
from tests.waiting import wait_until


def days_of(client: httpx.Client, **query: str) -> list[dict[str, Any]]:
    days: list[dict[str, Any]] = client.get("/v1/usage", params=query).json()["days"]
    return days


def test_a_caller_sees_its_own_accounts_alone(
    teams: Callable[[str], httpx.Client],
) -> None:
    answer = teams("alice").post(
        "/v1/compilations?wait=60", json=bodies.vector_add("usage of alice")
    )
    assert answer.json()["state"] == "succeeded"

    def is_counted() -> bool:
        """Service and worker add their parts at different times."""
        days = days_of(teams("alice"))
        sent_bytes = sum(day["sent_bytes"] for day in days)
        return sent_bytes >= len(answer.content) and any(day["cpu_seconds"] for day in days)

    wait_until(is_counted, "it is counted")

    alice = teams("alice")
    secret = alice.headers["authorization"].removeprefix("Bearer ")
    with Client(str(alice.base_url), api_key=secret) as client:
        [today] = client.usage()["days"]
    assert today["requests"] >= 1
    assert today["gpu_seconds"] == 0
    refused = teams("bob").get("/v1/usage", params={"caller": today["caller"]})
    assert (refused.status_code, refused.json()["slug"]) == (403, "forbidden")
    assert teams("bob").get("/v1/usage", params={"caller": "*"}).status_code == 403


def test_more_accounts_than_an_answer_has_room_for_are_refused(idle: Deployment) -> None:
    name = keys.USAGE + datetime.now(UTC).date().isoformat()
    amounts = {f"requests caller-{n}": 1 for n in range(MAX_AMOUNTS + 1)}
    asyncio.run(change(idle.redis_url, lambda redis: redis.hset(name, mapping=amounts)))
    try:
        with idle.client(authorization=f"Bearer {ADMIN_KEY}") as http:
            refused = http.get("/v1/usage", params={"caller": "*"})
            own = http.get("/v1/usage", params={"caller": "caller-7"})
    finally:
        asyncio.run(change(idle.redis_url, lambda redis: redis.hdel(name, *amounts)))

    assert (refused.status_code, refused.json()["slug"]) == (413, "too_large")
    assert "ask for one caller at a time" in refused.json()["detail"]
    assert [day["requests"] for day in own.json()["days"]] == [1]


async def change(redis_url: str, command: Callable[[StoreClient], Any]) -> None:
    async with connect(redis_url) as redis:
        await command(redis)


def test_a_key_with_a_limit_is_refused_beyond_it(idle: Deployment) -> None:
    key, secret = asyncio.run(limited_key(idle.redis_url))
    with idle.client(authorization=f"Bearer {secret}") as http:
        answers = [http.get("/v1/targets") for _ in range(5)]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["limit"] == 1
    for answer in (answers[0], refused):
        assert answer.headers["ratelimit-policy"] == '"requests";q=1;w=1'
        assert answer.headers["ratelimit"] == '"requests";r=0;t=1'
    with Client(idle.url, api_key=secret) as client:
        assert client.targets()  # after the time that the refusal names
    with idle.client(authorization=f"Bearer {ADMIN_KEY}") as http:
        wait_until(lambda: key in {day["caller"] for day in days_of(http, caller="*")}, "noted")
        text = http.get("/metrics").text

    said = idle.said()
    assert f"INFO service: listening on {idle.url}\n" in said
    assert re.search(rf"GET /v1/targets: 429 too_many_requests \(request \w+, key {key}\)\n", said)
    assert 'tritond_http_request_seconds_count{method="GET",route="/v1/targets",status="429"}' in (
        text
    )
    assert 'tritond_failures_total{code="worker_lost"} 0.0' in text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("PUT", "/v1/targets", 405),
        ("GET", "/v1/targets?wiat=1", 422),
        ("GET", "/v1/batches/b1?results=most", 422),
        ("GET", "/v1/usage?caller=*&caller=x", 422),
        ("POST", "/v1/compilations?wait=1&wait=2", 422),
    ],
)
def test_a_request_that_no_route_takes_counts_for_its_caller(
    idle: Deployment, method: str, path: str, status: int
) -> None:
    _, secret = asyncio.run(limited_key(idle.redis_url, requests_per_s=0.01))
    with idle.client(authorization=f"Bearer {secret}") as http:
        first, second = (http.request(method, path) for _ in range(2))

    assert (first.status_code, second.status_code) == (status, 429)
    assert first.headers["ratelimit"] == '"requests";r=0;t=100'


def test_a_path_that_is_not_there_needs_no_key_but_no_wrong_one(idle: Deployment) -> None:
    with idle.client() as http:
        assert http.get("/v1/nothing").status_code == 404
        wrong = http.get("/v1/nothing", headers={"authorization": "Bearer unknown"})

    assert (wrong.status_code, wrong.json()["slug"]) == (401, "unauthorized")


async def limited_key(redis_url: str, requests_per_s: float = 1) -> tuple[str, str]:
    async with connect(redis_url) as redis:
        key, secret = await ApiKeys(redis).create(
            "limited", ("compile",), requests_per_s=requests_per_s
        )
    return key.id, secret


def started(module: str, **environment: str) -> subprocess.CompletedProcess[str]:
    nowhere = {"TRITOND_REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    return subprocess.run(
        [sys.executable, "-m", module],
        env=os.environ | nowhere | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("module", slow_except(["service"], ["service", "worker"]))
def test_an_unknown_log_format_is_refused_with_those_there_are(module: str) -> None:
    ended = started(module, TRITOND_LOG_FORMAT="yaml", TRITOND_LOG="loud")

    assert ended.returncode == 1
    assert "TRITOND_LOG_FORMAT: Input should be 'text' or 'json'" in ended.stderr
    assert "TRITOND_LOG: Input should be 'debug', 'info'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_worker_without_a_port_is_in_the_metrics(system: Deployment) -> None:
    with system.client() as http:
        body = bodies.vector_add("in the metrics of workers")
        assert http.post("/v1/compilations?wait=60", json=body).json()["state"] == "succeeded"

        def counted() -> bool:
            text = http.get("/metrics").text
            return 'tritond_stage_seconds_count{stage="cubin"} 0.0' not in text

        wait_until(counted, "the worker has published")
        text = http.get("/metrics").text
    [lane] = [
        line
        for line in text.splitlines()
        if line.startswith('tritond_queue_wait_seconds_count{lane="compile:')
        and not line.endswith(" 0.0")
    ]
    assert lane
