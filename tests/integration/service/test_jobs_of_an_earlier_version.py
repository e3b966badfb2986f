"""Jobs queued by an earlier version succeed, or fail with a sentence that explains why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from compiler.toolchain import Toolchain
from jobs.kind import UNREADABLE
from store.connection import connect
from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from store.workers import Toolchains
from sweeps.stored_sweeps import Sweeps
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

QUEUED = json.loads((Path(__file__).parent / "fixtures/queued_by_400521c.json").read_text())
"""Queue entries that the service of commit 400521c wrote."""
JOBS: dict[str, dict[str, Any]] = QUEUED["jobs"]
CALLER = "anonymous"
WITHIN_S = 60


@pytest.fixture(scope="module")
def toolchain(system: Deployment, http: httpx.Client) -> Iterator[None]:
    """Return the toolchain of those jobs: no worker serves it, but one serves its Triton."""
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


@pytest.fixture(scope="module")
def ended(system: Deployment, toolchain: None) -> dict[str, Any]:
    """Return the records of all of them, which were in the queue together."""
    return asyncio.run(_ended(system.redis_url))


async def _ended(url: str) -> dict[str, Any]:
    async with connect(url) as redis:
        producer = JobProducer(redis)
        for name, job in JOBS.items():
            if job["lane"] == "sweeps":
                assert await Sweeps(redis).begin(job["id"], CALLER, 10)
            # no worker here records programs
            queued_s = 1 if name == "program" else WITHIN_S
            await producer.submit(
                job["id"], lane=job["lane"], priority=Priority(job["priority"]), caller=CALLER,
                payload=job["payload"].encode(), deadline_ms=queued_s * 1000,
                keeps_payload=job["keeps_payload"],
            )  # fmt: skip
        found: dict[str, Any] = {}
        async with asyncio.timeout(WITHIN_S):
            while len(found) < len(JOBS):
                for name, job in JOBS.items():
                    if name not in found and (result := await producer.result(job["id"])):
                        found[name] = json.loads(result.record)
                await asyncio.sleep(0.1)
        return found


def test_a_compilation_is_done(ended: dict[str, Any]) -> None:
    record = ended["compile"]

    assert (record["state"], record["kernel"], record["problem"]) == ("succeeded", "double", None)


@pytest.mark.parametrize("kind", ["sweep of compilations", "sweep of launches"])
def test_a_sweep_is_done(ended: dict[str, Any], http: httpx.Client, kind: str) -> None:
    sweep = http.get(f"/v1/sweeps/{JOBS[kind]['id']}").json()

    assert (ended[kind]["state"], sweep["state"]) == ("completed", "completed")
    assert [row["values"]["constexprs.BLOCK"] for row in sweep["rows"]] == [32, 64]
    assert {row["state"] for row in sweep["rows"]} <= {"succeeded", "completed"}


@pytest.mark.parametrize("kind", ["launch", "program"])
def test_a_launch_or_a_program_is_refused_in_a_sentence(ended: dict[str, Any], kind: str) -> None:
    record = ended[kind]

    assert (record["state"], record["verdict"]) == ("failed", None)
    assert record["problem"]["detail"] == UNREADABLE
    assert "Post it again." in UNREADABLE
