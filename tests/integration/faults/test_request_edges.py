"""What stands after the head of a request, and how much a client may make the service hold."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import httpx
import pytest

from tests.integration.faults.conftest import Connect
from tests.integration.service.running import Deployment, Process

HOST = b"Host: localhost\r\n"
CHUNKED = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
POST = b"POST /v1/compilations HTTP/1.1\r\n" + HOST
END_OF_BODY = b"2\r\n{}\r\n0\r\n"
TRAILER_BYTES = 8 << 10


async def sending_on(
    writer: asyncio.StreamWriter, reader: asyncio.StreamReader, part: bytes
) -> bytes:
    """Return all that is answered before the connection ends; fail if that is never."""
    answer = asyncio.create_task(reader.read())
    async with asyncio.timeout(60):
        while not answer.done():
            writer.write(part)
            await asyncio.sleep(0.2)
    return await answer


async def answer_to(connect: Connect, sent: bytes) -> bytes:
    """Return what is answered before the connection ends, however it ends."""
    reader, writer = await connect()
    writer.write(sent)
    return await read_to_the_end(reader)


async def read_to_the_end(reader: asyncio.StreamReader) -> bytes:
    answer = b""
    async with asyncio.timeout(60):
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(65536):
                answer += part
    return answer


async def test_a_trailer_is_no_header(service: Process, connect_to_service: Connect) -> None:
    without_type = CHUNKED.removeprefix(b"Content-Type: application/json\r\n")
    trailers = b"Content-Type: application/json\r\n\r\n"

    answer = await answer_to(
        connect_to_service,
        POST + b"Connection: close\r\n" + without_type + END_OF_BODY + trailers,
    )

    assert answer.split(b" ", 2)[1] == b"415", "Content-Type of a trailer counts for nothing"


async def test_a_small_trailer_is_left_out(service: Process, connect_to_service: Connect) -> None:
    answer = await answer_to(
        connect_to_service,
        POST + b"Connection: close\r\n" + CHUNKED + END_OF_BODY + b"Digest: x\r\n\r\n",
    )

    assert answer.split(b" ", 2)[1] == b"422", "the body was read"


@pytest.mark.parametrize(
    "trailer",
    [b"a:b\r\n" * 4000, b"a:" + b"b" * 20_000, b"a" * 20_000, b"a:b\r\n" * 100_000],
    ids=["many", "a long value", "a long name", "very many"],
)
async def test_long_trailers_end_the_connection(
    service: Process, connect_to_service: Connect, trailer: bytes
) -> None:
    answer = await answer_to(connect_to_service, POST + CHUNKED + END_OF_BODY + trailer)

    assert answer[:13] in (b"HTTP/1.1 431 ", b""), "nothing where the client was still sending"


async def test_slow_trailers_end_with_the_time_of_a_body(
    service: Process, connect_to_service: Connect
) -> None:
    reader, writer = await connect_to_service()
    writer.write(POST + CHUNKED + END_OF_BODY)
    answer = await sending_on(writer, reader, b"a:b\r\n")

    assert answer.split(b" ", 2)[1] == b"408"


async def test_a_body_that_no_route_reads_has_the_time_of_a_body(
    service: Process, connect_to_service: Connect
) -> None:
    reader, writer = await connect_to_service()
    writer.write(b"POST /v1/nothing HTTP/1.1\r\n" + HOST + b"Content-Length: 99\r\n\r\n")

    assert b" 404 " in await asyncio.wait_for(reader.read(), 60), "and the connection is closed"


async def test_endless_trailers_take_no_memory(
    service: Process, machine: Deployment, connect_to_service: Connect
) -> None:
    before = resident_bytes(service)
    for _ in range(4):
        _, writer = await connect_to_service()
        writer.write(POST + CHUNKED + END_OF_BODY)
        with pytest.raises(ConnectionError):
            await send_trailers(writer, 400 * 20_000)

    assert resident_bytes(service) - before < 32 << 20


@pytest.mark.parametrize(
    "head",
    [b"X-Long: " + b"x" * 70_000, b"X: y\r\n" * 12_000],
    ids=["one field", "many fields"],
)
async def test_a_large_head_in_one_burst_is_refused(
    service: Process, connect_to_service: Connect, head: bytes
) -> None:
    answer = await answer_to(
        connect_to_service, b"GET /healthz HTTP/1.1\r\n" + HOST + head + b"\r\n\r\n"
    )

    assert answer.split(b" ", 2)[1] == b"431"


async def test_a_long_target_in_one_burst_is_refused(
    service: Process, connect_to_service: Connect
) -> None:
    target = b"/healthz?" + b"x" * 70_000

    answer = await answer_to(
        connect_to_service, b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    )

    assert answer.split(b" ", 2)[1] == b"431"


async def test_nothing_but_empty_lines_is_no_way_to_stay(
    service: Process, connect_to_service: Connect
) -> None:
    reader, writer = await connect_to_service()
    writer.write(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")

    assert b" 200 " in await sending_on(writer, reader, b"\r\n")


async def test_requests_in_a_row_are_bounded(service: Process, connect_to_service: Connect) -> None:
    waiting = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"

    answers = await answer_to(connect_to_service, waiting * 5_000)

    assert answers.count(b"HTTP/1.1 200") < 5_000


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://elsewhere.example/healthz", b"421"),
        (b"http://localhost.elsewhere.example/healthz", b"421"),
        (b"http://user@localhost/healthz", b"421"),
        (b"http://localhost/healthz", b"200"),
        (b"HTTP://LOCALHOST/healthz", b"200"),
    ],
)
async def test_an_absolute_target_names_the_host(
    service: Process, connect_to_service: Connect, target: bytes, status: bytes
) -> None:
    head = b"GET " + target + b" HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n"

    assert (await answer_to(connect_to_service, head)).split(b" ", 2)[1] == status


async def test_stalled_bodies_give_way(
    service: Process, machine: Deployment, connect_to_service: Connect, http: httpx.AsyncClient
) -> None:
    before = resident_bytes(service)
    size = 6 << 20
    head = b"POST /v1/batches HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
    stalled = []
    for _ in range(12):
        reader, writer = await connect_to_service()
        writer.write(head + b"Content-Length: %d\r\n\r\n" % (size + 1) + b" " * size)
        await writer.drain()
        stalled.append(reader)

    first = await read_to_the_end(stalled[0])

    assert first[:13] in (b"HTTP/1.1 503 ", b""), "nothing where the client was still sending"
    assert resident_bytes(service) - before < 72 << 20
    assert (await http.get("/v1/targets")).status_code == 200


async def send_trailers(writer: asyncio.StreamWriter, count: int) -> None:
    for _ in range(count // 20_000):
        writer.write(b"a:b\r\n" * 20_000)
        await writer.drain()


def resident_bytes(process: Process) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))
