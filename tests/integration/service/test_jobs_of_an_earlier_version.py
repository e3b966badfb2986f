"""Jobs that an earlier version queued: each is done, or fails with a sentence that says why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler.toolchain import Toolchain
from jobs.kind import UNREADABLE
from store.connection import connect
from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from store.sweeps import Sweeps
from store.workers import Toolchains
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

QUEUED = json.loads((Path(__file__).parent / "fixtures/queued_by_400521c.json").read_text())
"""Entries of queued jobs, as the service of commit 400521c wrote them."""
JOBS: dict[str, dict[str, Any]] = QUEUED["jobs"]
CALLER = "anonymous"
WITHIN_S = 60


@pytest.fixture(scope="module", autouse=True)
def toolchain(system: Deployment, http: httpx.Client) -> Iterator[None]:
    """The toolchain of those jobs: no worker serves it, but one of its Triton."""
    [served] = http.get("/v1/targets").json()["toolchains"]
    gone = Toolchain.model_validate({**served, "id": QUEUED["toolchain"]})

    async def offer() -> None:
        async with connect(system.redis_url) as redis:
            await Toolchains(redis).register(gone.id, gone.model_dump_json().encode())

    async def forget() -> None:
        async with connect(system.redis_url) as redis:
            await Toolchains(redis).forget(gone.id)

    asyncio.run(offer())
    yield
    asyncio.run(forget())
    wait_until(lambda: len(http.get("/v1/targets").json()["toolchains"]) == 1, "it is gone")


def ends(system: Deployment, names: Sequence[str], queued_s: float = WITHIN_S) -> list[Any]:
    """Queue the jobs as they are in the fixture, and return their records."""
    return asyncio.run(_ends(system.redis_url, [JOBS[name] for name in names], queued_s))


async def _ends(url: str, jobs: Sequence[dict[str, Any]], queued_s: float) -> list[Any]:
    async with connect(url) as redis:
        producer = JobProducer(redis)
        for job in jobs:
            if job["lane"] == "sweeps":
                assert await Sweeps(redis).begin(job["id"], CALLER, 10)
            await producer.submit(
                job["id"], lane=job["lane"], priority=Priority(job["priority"]), caller=CALLER,
                payload=job["payload"].encode(), deadline_ms=int(queued_s * 1000),
                keeps_payload=job["keeps_payload"],
            )  # fmt: skip
        async with asyncio.timeout(WITHIN_S):
            while not all(results := [await producer.result(job["id"]) for job in jobs]):
                await asyncio.sleep(0.1)
        return [json.loads(result.record) for result in results if result is not None]


def test_a_compilation_is_done(system: Deployment) -> None:
    [record] = ends(system, ["compile"])

    assert (record["state"], record["kernel"], record["problem"]) == ("succeeded", "double", None)


@pytest.mark.parametrize("kind", ["sweep of compilations", "sweep of launches"])
def test_a_sweep_is_done(system: Deployment, http: httpx.Client, kind: str) -> None:
    [record] = ends(system, [kind])
    sweep = http.get(f"/v1/sweeps/{JOBS[kind]['id']}").json()

    assert (record["state"], sweep["state"]) == ("completed", "completed")
    assert [row["values"] for row in sweep["rows"]] == [
        {"constexprs.BLOCK": 32},
        {"constexprs.BLOCK": 64},
    ]
    assert {row["state"] for row in sweep["rows"]} <= {"succeeded", "completed"}


def test_a_launch_is_refused_in_a_sentence(system: Deployment, http: httpx.Client) -> None:
    [record] = ends(system, ["launch"])

    assert (record["state"], record["verdict"]) == ("failed", None)
    assert record["problem"]["detail"] == UNREADABLE
    assert "Post it again." in UNREADABLE
