"""Sentinels replace a master: the store follows, and what was confirmed is still there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from store.connection import StoreClient, connect
from store.errors import StoreUnavailable
from store.jobs.producer import JobProducer
from store.jobs.types import Priority
from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.servers.conftest import Replicated
from tests.waiting import comes_true, wait_until

RECOVERY_S = 30.0
"""The bar of a failover: from the loss of the master to the next accepted job."""


@pytest.fixture
async def store(replicated: Replicated) -> AsyncIterator[StoreClient]:
    client = connect(replicated.url, ack_replicas=1)
    yield client
    await client.aclose()


async def test_a_write_is_answered_when_a_replica_has_it(
    replicated: Replicated, store: StoreClient
) -> None:
    await store.set("key", "value")

    assert b"value" in [server.get("key") for server in replicated.servers[1:]]


async def test_a_sentinel_that_is_silent_is_passed_over(
    replicated: Replicated, store: StoreClient
) -> None:
    """It is on the machine of a lost master more often than not."""
    replicated.sentinels[0].pause()

    await store.set("key", "value")

    assert await store.get("key") == b"value"


async def test_a_write_that_no_replica_confirms_says_so(
    replicated: Replicated, store: StoreClient
) -> None:
    await store.set("key", "before")
    replicated.pause_replicas()

    with pytest.raises(StoreUnavailable, match="0 of 1 replicas confirmed it"):
        await store.set("key", "value")

    assert await store.get("key") == b"value", "it is read without waiting"


@pytest.mark.parametrize("transaction", [True, False])
async def test_pipelines_are_confirmed_too(
    replicated: Replicated, store: StoreClient, transaction: bool
) -> None:
    await store.set("key", "before")
    replicated.pause_replicas()
    pipeline = store.pipeline(transaction=transaction)
    pipeline.set("key", "value")

    with pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
        await pipeline.execute()


@pytest.mark.parametrize("loss", ["kill", "pause"])
async def test_jobs_that_were_accepted_outlive_their_master(
    replicated: Replicated, store: StoreClient, loss: str
) -> None:
    jobs = JobProducer(store)
    accepted = []

    async def submit_until(stopped: asyncio.Event, worker: int) -> None:
        number = 0
        while not stopped.is_set():
            number += 1
            job_id = f"job-{worker}-{number}"
            with suppress(StoreUnavailable):
                await jobs.submit(
                    job_id, lane="compile:a", priority=Priority.BATCH, payload=b"{}",
                    caller=f"caller-{worker}", deadline_ms=600_000,
                )  # fmt: skip
                accepted.append((time.monotonic(), job_id))
            await asyncio.sleep(0.02)

    stopped = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        for worker in range(8):
            tasks.create_task(submit_until(stopped, worker))
        await comes_true(lambda: len(accepted) > 100)
        getattr(replicated.master(), loss)()
        lost_at = time.monotonic()
        before = len(accepted)
        await comes_true(lambda: len(accepted) > before + 100, RECOVERY_S + 30)
        stopped.set()

    recovered_s = max(b - a for (a, _), (b, _) in pairwise(accepted))
    assert recovered_s < RECOVERY_S
    assert any(at > lost_at + 1 for at, _ in accepted)
    states = await jobs.states([job_id for _, job_id in accepted])
    assert states.count(None) == 0, "accepted, and gone"


@pytest.fixture
def deployment(tmp_path: Path, replicated: Replicated) -> Iterator[Deployment]:
    """A service and a worker on the Sentinels' master."""
    found = Deployment(tmp_path, TRITOND_ACK_REPLICAS="1", TRITOND_LEASE_S="5")
    found.use_store(replicated.url)
    found.start_service()
    found.start_worker()
    found.wait_for_workers()
    yield found
    found.stop()


def test_a_deployment_loses_nothing_and_answers_again(
    deployment: Deployment, replicated: Replicated
) -> None:
    """Compilations that are posted all the time; one answered 202 must end by itself."""
    accepted: list[tuple[float, str]] = []
    stop_at: list[float] = []

    def post(client: httpx.Client, number: int) -> None:
        while not stop_at:
            number += 8
            with suppress(httpx.TransportError):
                body = bodies.vector_add(f"{number}", stop_after="ttir")
                answer = client.post("/v1/compilations", json=body)
                if answer.status_code in {200, 202}:
                    accepted.append((time.monotonic(), answer.json()["url"]))
                else:
                    assert answer.status_code == 503, answer.text
                    assert answer.json()["slug"] == "store_unavailable"
            time.sleep(0.05)

    with deployment.client() as http, ThreadPoolExecutor(8) as threads:
        posting = [threads.submit(post, http, number) for number in range(8)]
        wait_until(lambda: len(accepted) > 50, "jobs are accepted", deployment.said)
        replicated.master().kill()
        before = len(accepted)
        wait_until(lambda: len(accepted) > before + 50, "and again", deployment.said)
        stop_at.append(time.monotonic())
        for thread in posting:
            thread.result()
        recovered_s = max(b - a for (a, _), (b, _) in pairwise(accepted))
        assert recovered_s < RECOVERY_S

        def state(url: str) -> Any:
            answer = http.get(url, params={"wait": 20})
            return answer.json().get("state") if answer.is_success else answer.text

        for _, url in accepted:
            wait_until(lambda url=url: state(url) == "succeeded", f"{url} ends", deployment.said)
