"""A bucket server that lies: what it sends is bounded, and never believed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import zstandard
from redis.asyncio import Redis

from store import bucket as bucket_module
from store import keys
from store.blobs import LARGE_BYTES, Blobs
from store.bucket import Bucket
from store.errors import BucketUnavailable
from store.frames import digest_of

DATA = os.urandom(4 * LARGE_BYTES)
FRAME = zstandard.compress(DATA)
BOMB = zstandard.compress(bytes(300 << 20))
META = b'Last-Modified: Sat, 28 Nov 2026 16:00:00 GMT\r\nETag: "x"\r\n'
OK = b"HTTP/1.1 200 OK\r\n" + META
GIVEN_UP_BYTES = 64 << 20
"""A server that a client reads so much from has found no limit."""

Write = Callable[[bytes], Awaitable[None]]


def answer(content: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n" % len(content) + content


async def endlessly(write: Write, part: bytes) -> None:
    for _ in range(0, GIVEN_UP_BYTES, len(part)):
        await write(part)


async def too_long(write: Write) -> None:
    await write(OK + b"Content-Length: 500000000\r\n\r\n")
    await endlessly(write, bytes(1 << 20))


async def longer_than_it_says(write: Write) -> None:
    await write(OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n")
    await endlessly(write, b"100000\r\n" + bytes(1 << 20) + b"\r\n")


async def slowly(write: Write) -> None:
    await write(OK + b"Content-Length: %d\r\n\r\n" % len(FRAME))
    for octet in FRAME:
        await write(bytes([octet]))
        await asyncio.sleep(0.05)


class Liar:
    """Answers each GET with `lie`, and takes each PUT; counts the bytes that it sent."""

    def __init__(self) -> None:
        self.lie: bytes | Callable[[Write], Awaitable[None]] = b""
        self.sent_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)

        async def write(data: bytes) -> None:
            self.sent_bytes += len(data)
            writer.write(data)
            await writer.drain()

        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if head.startswith("put"):
                length = head.partition("content-length: ")[2].partition("\r\n")[0]
                await reader.readexactly(int(length))
                await write(b"HTTP/1.1 200 OK\r\n" + META + b"Content-Length: 0\r\n\r\n")
            elif isinstance(self.lie, bytes):
                await write(self.lie)
            else:
                await self.lie(write)
        writer.close()

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()


@pytest.fixture
async def liar(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Liar]:
    liar = Liar()
    server = await asyncio.start_server(liar.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("SSL_CERT_DIR", "/etc/ssl/certs")
    monkeypatch.setattr(bucket_module, "ANSWER_S", 1.0)
    yield liar
    liar.stop()
    server.close()


@pytest.fixture
async def blobs(cache: Redis, liar: Liar) -> Blobs:
    return Blobs(cache, bucket=Bucket("s3://bucket/x"))


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


async def test_the_right_object_is_read(blobs: Blobs, liar: Liar) -> None:
    digest = await blobs.put(DATA)
    liar.lie = answer(FRAME)

    assert await blobs.get(digest) == DATA


LIES: dict[str, Any] = {
    "another object": answer(zstandard.compress(DATA[::-1])),
    "no frame": answer(os.urandom(len(FRAME))),
    "a cut frame": answer(FRAME[:-9]),
    "a frame that grows": answer(BOMB),
    "a frame of no known size": answer(zstandard.ZstdCompressor().compressobj().compress(b"")),
    "nothing": answer(b""),
    "too long": too_long,
    "longer than it says": longer_than_it_says,
    "longer than there is memory": OK + b"Content-Length: 1000000000000\r\n\r\n",
}


@pytest.mark.parametrize("name", LIES)
async def test_a_lie_is_a_miss_within_bounded_memory(
    blobs: Blobs, liar: Liar, cache: Redis, name: str
) -> None:
    digest = await blobs.put(DATA)
    liar.lie = LIES[name]
    forget_peak()
    before = peak_bytes()

    assert await blobs.get(digest) is None

    assert peak_bytes() - before < 32 << 20
    assert liar.sent_bytes < GIVEN_UP_BYTES
    assert not await cache.exists(keys.BLOB + digest)


UNUSABLE: dict[str, Any] = {
    "slowly": slowly,
    "no length": OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative length": OK + b"Content-Length: -1\r\n\r\n",
    "no HTTP": b"\x1b[31m" + os.urandom(500) + b"\r\n\r\n",
    "less than it says": OK + b"Content-Length: 500\r\n\r\nabc",
    "a circle": b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", UNUSABLE)
async def test_an_answer_that_cannot_be_read_is_a_bucket_that_is_away(
    blobs: Blobs, liar: Liar, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_module, "SLOWEST_BYTES_PER_S", 1 << 20)
    digest = await blobs.put(DATA)
    liar.lie = UNUSABLE[name]

    with pytest.raises(BucketUnavailable):
        await blobs.get(digest)


async def test_a_marker_of_an_earlier_version_is_read(
    blobs: Blobs, liar: Liar, cache: Redis
) -> None:
    digest = digest_of(DATA)
    await cache.set(keys.BLOB + digest, b"bucket:%d" % len(FRAME))
    liar.lie = answer(FRAME)

    assert await blobs.get(digest) == DATA
