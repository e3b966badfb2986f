"""Revoking a key ends its open waits, streams, uploads and downloads; other keys' continue."""

from __future__ import annotations

import asyncio
import hashlib
import io
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from store.api_keys import ApiKeys
from store.connection import connect
from store.jobs.producer import JobProducer
from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.waiting import LIMIT_S, wait_until


class ApiKey:
    """An API key for one test."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.id, self.secret = asyncio.run(self._make())
        self.opened: list[socket.socket] = []

    async def _make(self) -> tuple[str, str]:
        async with connect(self.deployment.redis_url) as redis:
            key, secret = await ApiKeys(redis).create("leaver", ("compile", "launch"))
        return key.id, secret

    def client(self) -> httpx.Client:
        return self.deployment.client(authorization=f"Bearer {self.secret}")

    def raw(self, request: bytes) -> socket.socket:
        """Send a head and a body; read nothing of the answer."""
        connection = socket.socket()
        self.opened.append(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        host, port = self.deployment.url.removeprefix("http://").split(":")
        connection.settimeout(LIMIT_S)
        connection.connect((host, int(port)))
        head, end, body = request.partition(b"\r\n\r\n")
        own = f"\r\nHost: localhost\r\nAuthorization: Bearer {self.secret}".encode()
        connection.sendall(head + own + end + body)
        return connection

    async def withdraw(self, path: str) -> None:
        """Take a compilation out of the queue, which a revoked key cannot do by itself."""
        async with connect(self.deployment.redis_url) as redis:
            await JobProducer(redis).cancel(path.rpartition("/")[2], self.id, b"{}")

    def close(self) -> None:
        for connection in self.opened:
            connection.close()

    def revoke(self) -> None:
        async def revoke() -> None:
            async with connect(self.deployment.redis_url) as redis:
                assert await ApiKeys(redis).revoke(self.id)

        asyncio.run(revoke())


@pytest.fixture
def key(idle: Deployment) -> Iterator[ApiKey]:
    made = ApiKey(idle)
    yield made
    made.close()


@pytest.fixture
def other(idle: Deployment) -> Iterator[ApiKey]:
    made = ApiKey(idle)
    yield made
    made.close()


@pytest.fixture
def queued(key: ApiKey) -> Iterator[str]:
    """Return the path of a compilation that no worker takes."""
    with key.client() as http:
        path = http.post("/v1/compilations", json=bodies.vector_add(key.id)).headers["location"]
    yield path
    asyncio.run(key.withdraw(path))


def read_to_the_end(connection: socket.socket) -> bytes:
    found = b""
    try:
        while part := connection.recv(1 << 20):
            found += part
    except ConnectionError:
        return found
    return found


def wait_for_reset(connection: socket.socket) -> None:
    """Wait until the service has cut `connection` off, and read nothing of it before.

    A 401 to a new request comes earlier: the service looks up other keys before it ends what this
    one opened, and a test that reads meanwhile may receive all of it.
    """
    poll = select.poll()
    poll.register(connection, 0)  # of errors alone, such as a reset
    assert poll.poll(LIMIT_S * 1000), "the service did not cut the connection off"


def read_on(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def test_a_wait_is_answered_that_the_key_was_revoked(key: ApiKey, queued: str) -> None:
    with key.client() as http, ThreadPoolExecutor() as threads:
        waiting = threads.submit(http.get, f"{queued}?wait=60", timeout=LIMIT_S)
        posting = threads.submit(
            http.post, "/v1/compilations?wait=60", json=bodies.vector_add(key.id)
        )
        time.sleep(0.5)
        assert not waiting.done()
        assert not posting.done()

        key.revoke()
        answers = [waiting.result(), posting.result()]

    assert [answer.status_code for answer in answers] == [401, 401]


def test_a_stream_of_events_ends(key: ApiKey, queued: str) -> None:
    connection = key.raw(f"GET {queued}/events HTTP/1.1\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"

    key.revoke()

    assert b"\r\n0\r\n\r\n" not in read_to_the_end(connection), "cut off, not ended"


def test_an_upload_ends(key: ApiKey) -> None:
    connection = key.raw(
        b"POST /v1/compilations HTTP/1.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 100000\r\n\r\n{"
    )
    key.revoke()

    assert read_to_the_end(connection).startswith(b"HTTP/1.1 401")


def test_a_download_is_cut_off(key: ApiKey) -> None:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(0).integers(0, 256, 24 << 20, dtype=np.uint8))
    data = file.getvalue()
    path = f"/v1/tensors/sha256:{hashlib.sha256(data).hexdigest()}"
    with key.client() as http:
        assert http.put(path, content=data).status_code == 201
    connection = key.raw(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"

    key.revoke()
    wait_for_reset(connection)

    assert len(read_to_the_end(connection)) < len(data) // 2


def test_an_answer_that_only_the_kernel_holds_is_cut_off(key: ApiKey, other: ApiKey) -> None:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8))
    data = file.getvalue()
    path = f"/v1/tensors/sha256:{hashlib.sha256(data).hexdigest()}"
    with key.client() as http:
        assert http.put(path, content=data).status_code == 201
    connection = key.raw(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    time.sleep(0.5)  # the service has sent all of it to the kernel, and another key asks
    connection.sendall(
        b"GET /v1/targets HTTP/1.1\r\nHost: localhost\r\n"
        + f"Authorization: Bearer {other.secret}\r\n\r\n".encode()
    )
    time.sleep(0.5)

    key.revoke()
    wait_for_reset(connection)

    assert len(read_to_the_end(connection)) < len(data)


def test_requests_of_other_keys_go_on(key: ApiKey, queued: str, other: ApiKey) -> None:
    stream = other.raw(f"GET {queued}/events HTTP/1.1\r\n\r\n".encode())
    assert stream.recv(12) == b"HTTP/1.1 200"
    key.revoke()
    with key.client() as http:
        wait_until(lambda: http.get("/v1/targets").status_code == 401, "the key opens nothing")

    stream.settimeout(1)
    with pytest.raises(TimeoutError):
        read_on(stream)
