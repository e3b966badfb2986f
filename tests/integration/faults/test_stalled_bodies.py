"""Stalled bodies hold bounded memory, and other callers are still served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.faults.conftest import Connect, connections_to
from tests.integration.service.running import Deployment

MIB = 1 << 20
ADMIN_KEY = "tritond_a-first-key-for-the-tests"
OF_ONE_BYTES, OF_ALL_BYTES = 40 * MIB, 64 * MIB
BATCH_BYTES = 15 * MIB
HEAD = (
    b"POST /v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n" % (BATCH_BYTES + 1)
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a service with API keys and little room for bodies, without a worker."""
    deployment = Deployment(
        tmp_path_factory.mktemp("guarded"),
        TRITOND_ADMIN_KEY=ADMIN_KEY,
        TRITOND_MAX_TENSOR_BYTES=str(16 * MIB),
        TRITOND_MAX_BODIES_BYTES_PER_CALLER=str(OF_ONE_BYTES),
        TRITOND_MAX_BODIES_BYTES=str(OF_ALL_BYTES),
    )
    deployment.start_store()
    deployment.start_service()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said


@pytest.fixture
async def connect_to_guarded(guarded: Deployment) -> AsyncIterator[Connect]:
    async with connections_to(guarded) as connect:
        yield connect


async def stall(connect: Connect, key: str = ADMIN_KEY) -> asyncio.StreamReader:
    """Send all of a batch except its last byte."""
    reader, writer = await connect()
    writer.write(HEAD + b"Authorization: Bearer " + key.encode() + b"\r\n\r\n")
    try:
        for _ in range(BATCH_BYTES // MIB):
            writer.write(b" " * MIB)
            await writer.drain()
    except ConnectionError:
        pass  # dropped before it stalled
    return reader


async def answer_of(reader: asyncio.StreamReader) -> bytes:
    """Return the answer before the connection ends; empty if it was reset."""
    try:
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionError:
        return b""


async def test_stalled_bodies_hold_no_more_than_their_limit(guarded, connect_to_guarded):
    before_bytes = guarded.service.resident_bytes
    readers = [await stall(connect_to_guarded) for _ in range(12)]

    held_bytes = guarded.service.resident_bytes - before_bytes
    everything = [await answer_of(reader) for reader in readers[:10]]
    answers = [answer for answer in everything if answer]

    assert held_bytes < OF_ALL_BYTES + 24 * MIB
    assert answers, "one that was dropped while it sent may lose its answer, but not all"
    assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in answers)
    assert all(b"too_many_bodies" in answer for answer in answers)
    assert all(b"retry-after: " in answer for answer in answers)


async def test_a_small_body_is_served_beside_stalled_ones(guarded, connect_to_guarded):
    stalled = [await stall(connect_to_guarded) for _ in range(2)]
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx.AsyncClient(base_url=guarded.url, headers=headers, timeout=60) as http:
        for _ in range(20):
            answer = await http.post("/v1/batches", json={"compilations": "x" * 50_000})
            assert answer.status_code == 422
    for reader in stalled:
        assert not reader.at_eof(), "there was room for all of them"


async def test_a_quick_upload_goes_before_stalled_bodies(guarded, connect_to_guarded):
    readers = [await stall(connect_to_guarded) for _ in range(2)]
    await asyncio.sleep(1)
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx.AsyncClient(base_url=guarded.url, headers=headers, timeout=60) as http:
        answer = await http.put("/v1/tensors/sha256:0", content=b"x" * 12 * MIB)

    assert answer.status_code == 422, "all of it was read, and has another digest"
    assert (await answer_of(readers[0])).startswith(b"HTTP/1.1 503 ")


async def test_what_is_held_counts_until_its_sender_leaves(guarded, connect_to_guarded):
    for _ in range(3):
        async with connections_to(guarded) as connect:
            readers = [await stall(connect) for _ in range(2)]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*(each.read(1) for each in readers)), 0.2)


def answers_to_guesses(deployment: Deployment) -> list[int]:
    """Return the answers to 60 wrong keys, each with a different address in a header."""
    with deployment.client() as http:
        guesses = [
            {"authorization": f"Bearer wrong-{n}", "x-forwarded-for": f"192.0.2.{n}"}
            for n in range(60)
        ]
        return [http.get("/v1/targets", headers=guess).status_code for guess in guesses]


def test_another_address_cannot_be_claimed(guarded: Deployment):
    """Otherwise a guesser would claim a new address each time."""
    answers = answers_to_guesses(guarded)

    assert answers.count(401) < 55
    assert answers[-1] == 429


@pytest.mark.slow
def test_a_configured_proxy_is_believed(tmp_path: Path):
    behind = Deployment(tmp_path, TRITOND_ADMIN_KEY=ADMIN_KEY, TRITOND_TRUSTED_PROXIES="127.0.0.1")
    behind.start_store()
    try:
        behind.start_service()
        answers = answers_to_guesses(behind)
    finally:
        behind.stop()

    assert answers == [401] * 60
