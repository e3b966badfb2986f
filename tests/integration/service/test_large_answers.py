"""Answers of several records: bounded, without repeats, and never held twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.caller import ANONYMOUS
from store import keys
from store.batches import Batches, EndedItems, PlannedItem
from store.byte_limits import MAX_ANSWER_BYTES, MAX_RECORD_BYTES
from store.connection import StoreClient, connect
from store.launches import Launches
from tests.integration.service.running import Deployment, Process

MIB = 1 << 20
IDS = [f"{number:032x}" for number in range(40)]
BATCH = "b" * 32


def record_of(launch_id: str, size_bytes: int) -> bytes:
    head = json.dumps({"id": launch_id, "state": "completed"}).encode()
    return head[:-1] + b',"stdout":"' + b"x" * (size_bytes - len(head) - 12) + b'"}'


async def _plant(redis: StoreClient) -> None:
    """Keep a launch of 4 MiB under every id but the last, whose record is as large as can be."""
    for number, launch_id in enumerate(IDS):
        size_bytes = MAX_RECORD_BYTES if number == len(IDS) - 1 else 4 * MIB
        await Launches(redis).create(launch_id, ANONYMOUS.id)
        record = record_of(launch_id, size_bytes)
        await redis.hset(keys.RESULT + launch_id, mapping={"record": record, "reusable": "1"})
    batches = Batches(redis)
    await batches.create(BATCH, ANONYMOUS.id, "launches", [PlannedItem(one) for one in IDS])
    await batches.note_caches(BATCH, {})
    await batches.end_items(BATCH, [EndedItems(range(len(IDS)), "completed")])


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a service whose store has large launches, and a batch of them."""
    deployment = Deployment(tmp_path_factory.mktemp("large"))
    deployment.start_store()

    async def plant() -> None:
        redis = connect(deployment.redis_url)
        await _plant(redis)
        await redis.aclose()

    asyncio.run(plant())
    deployment.start_service()
    yield deployment
    deployment.stop()


@pytest.fixture
def client(large: Deployment) -> Iterator[httpx.Client]:
    with large.client() as client:
        yield client


def query(client: httpx.Client, ids: list[str]) -> httpx.Response:
    return client.post("/v1/launches/query", json={"ids": ids})


def peak_bytes(process: Process) -> int:
    """Return the most memory that a process held since `forget_peak`."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) << 10


def forget_peak(process: Process) -> None:
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")


def test_an_id_that_is_there_twice_is_refused_with_its_place(client: httpx.Client) -> None:
    answer = query(client, [IDS[0], IDS[1], IDS[0]])

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error == {"pointer": "/ids/2", "message": "is the same as /ids/0"}


def test_launches_that_fit_are_answered_in_the_order_of_their_ids(client: httpx.Client) -> None:
    ids = IDS[6::-1]

    answer = query(client, ids)

    assert answer.status_code == 200
    assert [launch["id"] for launch in answer.json()["launches"]] == ids
    assert int(answer.headers["content-length"]) == len(answer.content) < MAX_ANSWER_BYTES


def test_no_ids_have_no_launches(client: httpx.Client) -> None:
    assert query(client, []).json() == {"launches": []}


def test_launches_that_do_not_fit_together_are_refused(client: httpx.Client) -> None:
    answer = query(client, IDS)

    problem = answer.json()
    assert (answer.status_code, problem["slug"]) == (413, "too_large")
    assert problem["limit"] == MAX_ANSWER_BYTES
    assert "the first 8 fit" in problem["detail"]


def test_a_batch_answers_the_results_that_fit(client: httpx.Client) -> None:
    answer = client.get(f"/v1/batches/{BATCH}")

    items: list[dict[str, Any]] = answer.json()["items"]
    assert len(answer.content) <= MAX_ANSWER_BYTES
    assert [item["status"] for item in items] == [200] * 7 + [413] * (len(IDS) - 7)
    assert items[-1]["problem"]["detail"].endswith(f"GET this one at /v1/launches/{IDS[-1]}")


def test_a_record_of_any_size_has_its_state_read_without_all_of_it(
    large: Deployment, client: httpx.Client
) -> None:
    assert client.get(f"/v1/launches/{IDS[-1]}").json()["state"] == "completed"


@pytest.mark.parametrize("what", ["query", "batch", "launch", "list"])
def test_the_service_grows_by_a_bounded_amount(
    large: Deployment, client: httpx.Client, what: str
) -> None:
    assert large.service is not None
    query(client, IDS[:1])
    forget_peak(large.service)
    before = large.service.resident_bytes
    for _ in range(3):
        if what == "query":
            assert query(client, IDS).status_code == 413
            assert query(client, IDS[:7]).status_code == 200
        elif what == "batch":
            assert client.get(f"/v1/batches/{BATCH}").status_code == 200
        elif what == "launch":
            assert client.get(f"/v1/launches/{IDS[-1]}").status_code == 200
        else:
            assert client.get("/v1/launches?limit=100").status_code == 200

    assert peak_bytes(large.service) - before <= 64 * MIB


def test_ids_that_are_longer_than_any_are_unknown(client: httpx.Client) -> None:
    for path in ("launches", "proofs", "programs", "batches", "sweeps", "compilations"):
        assert client.get(f"/v1/{path}/{'a' * 5_000}").status_code == 404
