"""The client reads a bounded number of bytes of any answer, and for a bounded time."""

import gzip
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import tritonc
import zstandard
from tritonc import Client, ServerUnavailable, UnexpectedAnswer

MIB = 1 << 20
JSON_MIB = 64


def gzip_bomb(size_mib: int) -> bytes:
    """Return gzip that is `size_mib` long once decoded: a thousandth of it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zeros = bytes(MIB)
    return b"".join([*(packer.compress(zeros) for _ in range(size_mib)), packer.flush()])


def zstd_bomb(size_mib: int) -> bytes:
    """Return zstd that is `size_mib` long once decoded: a twenty-thousandth of it."""
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    zeros = bytes(MIB)
    return b"".join([*(packer.compress(zeros) for _ in range(size_mib)), packer.flush()])


class Sent(httpx.SyncByteStream):
    """A body as a connection delivers it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            self.taken += 1
            yield piece


def client_of(body: Sent, **headers: str) -> Client:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = httpx.Response(200, headers=named, stream=body)
    return Client("http://tritond.test", transport=httpx.MockTransport(lambda _: answer))


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_bomb_is_refused_before_it_takes_memory(kind: str) -> None:
    bomb = {"gzip": gzip_bomb, "zstd": zstd_bomb}[kind](5 * JSON_MIB)
    with client_of(Sent(iter([bomb])), content_encoding=kind) as client:
        tracemalloc.start()
        with pytest.raises(UnexpectedAnswer, match="more than 64 MiB"):
            client.targets()
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak_bytes < 4 * JSON_MIB * MIB


def test_an_endless_body_is_refused() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"[" * MIB

    body = Sent(endless())
    with client_of(body) as client, pytest.raises(UnexpectedAnswer, match="more than 64 MiB"):
        client.targets()

    assert body.taken == JSON_MIB + 1


def test_a_body_that_says_it_is_too_long_is_not_read() -> None:
    body = Sent(iter([b"{}"]))
    with (
        client_of(body, content_length=str(65 * MIB)) as client,
        pytest.raises(UnexpectedAnswer, match="more than 64 MiB"),
    ):
        client.targets()

    assert body.taken == 0


def test_a_body_that_comes_too_slowly_is_refused(pauses: list[float]) -> None:
    def slowly() -> Iterator[bytes]:
        while True:
            pauses.append(20)
            yield b" "

    body = Sent(slowly())
    with client_of(body) as client, pytest.raises(UnexpectedAnswer, match="in time"):
        client.targets()

    assert body.taken == 7, "two minutes of bytes that come every 20 s"


def test_a_file_may_be_larger_than_json() -> None:
    body = Sent(bytes(MIB) for _ in range(JSON_MIB + 6))
    with client_of(body) as client:
        assert len(client.artifact("key", "cubin")) == (JSON_MIB + 6) * MIB


def test_a_file_has_a_limit_too() -> None:
    length = str((1 << 30) + 1)
    with (
        client_of(Sent(iter([])), content_length=length) as client,
        pytest.raises(UnexpectedAnswer, match="more than 1024 MiB"),
    ):
        client.tensors.get("sha256:" + "0" * 64)


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", gzip.compress(b'{"targets": ', mtime=0) + gzip.compress(b"[]}", mtime=0)),
        ("GZIP", gzip.compress(b'{"targets": []}', mtime=0)),
        ("zstd", zstandard.compress(b'{"targets": []}')),
        ("identity", b'{"targets": []}'),
    ],
)
def test_encoded_answers_are_read(encoding: str, data: bytes) -> None:
    pieces = iter([data[:5], data[5:]])
    with client_of(Sent(pieces), content_encoding=encoding) as client:
        assert client.targets() == {"targets": []}


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_what_cannot_be_decoded_is_no_answer(kind: str) -> None:
    with (
        client_of(Sent(iter([b"not encoded"])), content_encoding=kind) as client,
        pytest.raises(ServerUnavailable),
    ):
        client.targets()


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    with (
        client_of(Sent(iter([b"x"])), content_encoding="br, gzip") as client,
        pytest.raises(UnexpectedAnswer, match="unasked"),
    ):
        client.targets()


def test_encoded_events_are_refused() -> None:
    with (
        client_of(Sent(iter([gzip_bomb(8)])), content_encoding="gzip") as client,
        pytest.raises(UnexpectedAnswer, match="unasked"),
    ):
        list(client.launches.events("id"))


async def test_the_asyncio_client_has_the_same_limits() -> None:
    async def endless() -> Any:
        while True:
            yield b"[" * MIB

    answer = httpx.Response(200, content=endless())
    transport = httpx.MockTransport(lambda _: answer)
    async with tritonc.AsyncClient("http://tritond.test", transport=transport) as client:
        with pytest.raises(UnexpectedAnswer, match="more than 64 MiB"):
            await client.targets()
