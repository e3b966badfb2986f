"""Malformed requests: the service keeps, believes and confuses none of them."""

from __future__ import annotations

import asyncio

import pytest

LOCAL = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
JSON = b"Content-Type: application/json\r\n"
POST = b"POST /v1/compilations HTTP/1.1\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
MIB = 1 << 20
WAIT_S = 60


async def everything(reader: asyncio.StreamReader) -> bytes:
    """Return the answer until the connection closes."""
    answered = b""
    async with asyncio.timeout(WAIT_S):
        try:
            while data := await reader.read(1 << 16):
                answered += data
        except ConnectionError:
            pass
    return answered


async def answer_to(connect_to_service, sent: bytes) -> bytes:
    reader, writer = await connect_to_service()
    writer.write(sent)
    return await everything(reader)


def statuses(answered: bytes) -> list[int]:
    return [int(part[:3]) for part in answered.split(b"HTTP/1.1 ")[1:] if part[:3].isdigit()]


async def flood(writer: asyncio.StreamWriter, piece: bytes, most_bytes: int) -> int:
    """Send `piece` until the connection closes; return how many bytes went."""
    sent = 0
    try:
        async with asyncio.timeout(WAIT_S):
            while sent < most_bytes:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
    except ConnectionError:
        pass
    return sent


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param(b"a:b\r\n" * 13_000, id="many trailers"),
        pytest.param(b"a" * 65_000, id="one trailer", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("path", [b"/v1/compilations", b"/v1/nothing"], ids=["read", "not read"])
async def test_trailers_are_not_kept(service, connect_to_service, path, piece):
    before = service.resident_bytes
    _, writer = await connect_to_service()
    writer.write(b"POST " + path + b" HTTP/1.1\r\n" + LOCAL + JSON + CHUNKED + b"0\r\n")

    sent = await flood(writer, piece, 40 * MIB)

    assert sent < 20 * MIB, "the connection was closed"
    assert service.resident_bytes - before < 20 * MIB


async def test_a_trailer_is_no_header(service, connect_to_service):
    """A trailer sets neither the media type, nor a header of this service, nor a key."""
    trailers = b"Content-Type: application/json\r\nX-Request-ID: trailer\r\n\r\n"
    sent = POST + LOCAL + CHUNKED + b"2\r\n{}\r\n0\r\n" + trailers

    answered = await answer_to(
        connect_to_service, sent + GET + LOCAL + b"Connection: close\r\n\r\n"
    )

    assert statuses(answered) == [415, 200]
    assert b"There is no Content-Type" in answered
    assert b"x-request-id: trailer" not in answered


async def test_a_trailer_leaves_no_request_without_an_answer(service, connect_to_service):
    """The parser reads nothing after this one."""
    sent = POST + LOCAL + CHUNKED + b"2\r\n{}\r\n0\r\nConnection: close\r\n\r\n"

    assert statuses(await answer_to(connect_to_service, sent + GET + LOCAL)) == [415]


async def test_few_trailers_are_taken_and_dropped(service, connect_to_service):
    sent = POST + LOCAL + JSON + CHUNKED + b"2\r\n{}\r\n0\r\nExpires: never\r\n\r\n"

    answered = await answer_to(
        connect_to_service, sent + GET + LOCAL + b"Connection: close\r\n\r\n"
    )

    assert statuses(answered) == [422, 200]


@pytest.mark.parametrize("path", [b"/v1/compilations", b"/v1/nothing"], ids=["read", "not read"])
async def test_trailers_have_the_time_of_the_body(service, connect_to_service, path):
    reader, writer = await connect_to_service()
    writer.write(b"POST " + path + b" HTTP/1.1\r\n" + LOCAL + JSON + CHUNKED + b"2\r\n{}\r\n0\r\n")

    async def trickle() -> None:
        while True:
            writer.write(b"a:b\r\n")
            await writer.drain()
            await asyncio.sleep(0.2)

    trickling = asyncio.create_task(trickle())
    answered = await everything(reader)
    trickling.cancel()

    assert statuses(answered) in ([408], [404])


async def test_a_long_head_that_comes_at_once_is_refused(service, connect_to_service):
    answered = await answer_to(
        connect_to_service, GET + LOCAL + b"X: " + b"x" * 70_000 + b"\r\n\r\n"
    )

    assert statuses(answered) == [431]


async def test_a_head_of_many_fields_is_refused(service, connect_to_service):
    answered = await answer_to(connect_to_service, GET + LOCAL + b"a:b\r\n" * 1_000 + b"\r\n")

    assert statuses(answered) == [431]


async def test_a_head_behind_a_large_body_is_not_measured_with_it(service, connect_to_service):
    first = POST + LOCAL + JSON + b"Content-Length: 100000\r\n\r\n" + b" " * 100_000
    reader, writer = await connect_to_service()
    writer.write(first + GET + LOCAL)
    await asyncio.sleep(0.3)
    writer.write(b"Connection: close\r\n\r\n")

    assert statuses(await everything(reader)) == [400, 200]


@pytest.mark.parametrize(
    "target", [b"http://evil.example/healthz", b"http://localhost:1/healthz", b"ftp://localhost/",
               b"http://user@localhost/healthz", b"http://evil.example"],
)  # fmt: skip
async def test_a_target_with_the_name_of_another_is_refused(service, connect_to_service, target):
    answered = await answer_to(
        connect_to_service, b"GET " + target + b" HTTP/1.1\r\n" + LOCAL + b"\r\n"
    )

    assert statuses(answered) == [421]


async def test_a_target_with_the_name_of_the_host_is_taken(service, connect_to_service):
    sent = b"GET http://LOCALHOST/healthz HTTP/1.1\r\n" + LOCAL + b"Connection: close\r\n\r\n"

    assert statuses(await answer_to(connect_to_service, sent)) == [200]


@pytest.mark.parametrize("second", [b"localhost", b"evil.example", b""])
async def test_a_request_with_two_hosts_is_refused(service, connect_to_service, second):
    answered = await answer_to(connect_to_service, GET + LOCAL + b"host: " + second + b"\r\n\r\n")

    assert statuses(answered) == [400]
    assert b"The request has 2 Host fields; send one" in answered


async def test_empty_lines_are_no_way_to_hold_a_connection(service, connect_to_service):
    reader, writer = await connect_to_service()
    writer.write(GET + LOCAL + b"\r\n")
    await reader.readuntil(b"\r\n\r\n")

    sent = await flood(writer, b"\r\n" * 32_000, 40 * MIB)

    assert sent < 20 * MIB


async def test_what_is_answered_early_is_read_no_longer_than_a_body(service, connect_to_service):
    """The service drops the rest of a body, within the same limits of bytes and time."""
    _, writer = await connect_to_service()
    writer.write(b"POST /v1/nothing HTTP/1.1\r\n" + LOCAL + b"Content-Length: 9999999999\r\n\r\n")

    sent = await flood(writer, b"x" * 65_536, 80 * MIB)

    assert sent < 60 * MIB


async def test_a_connection_is_not_held_by_a_body_that_was_answered(service, connect_to_service):
    reader, writer = await connect_to_service()
    writer.write(b"POST /v1/nothing HTTP/1.1\r\n" + LOCAL + b"Content-Length: 1000\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    await asyncio.sleep(0.2)
    writer.write(b"x")

    assert b"not_found" in await everything(reader)


async def test_a_body_is_none_of_an_upgrade(service, connect_to_service):
    """A proxy in between would not see it, but the service would read it as the next request."""
    upgrade = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
    reader, writer = await connect_to_service()
    writer.write(POST + LOCAL + JSON + upgrade + b"Content-Length: 70\r\n\r\n")
    await asyncio.sleep(0.2)
    writer.write(GET + LOCAL + b"\r\n")

    assert statuses(await everything(reader)) == [400]


async def test_an_upgrade_is_not_taken_and_costs_no_request_behind_it(service, connect_to_service):
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"

    sent = GET + LOCAL + upgrade + b"\r\n" + GET + LOCAL + b"Connection: close\r\n\r\n"

    assert statuses(await answer_to(connect_to_service, sent)) == [200, 200]


async def test_many_requests_at_once_are_not_all_kept(service, connect_to_service):
    """Each costs far more memory than its bytes."""
    answered = await answer_to(connect_to_service, (GET + LOCAL + b"\r\n") * 1_000)

    assert 0 < len(statuses(answered)) < 20
    assert set(statuses(answered)) == {200}


async def test_a_malformed_request_costs_no_answer_before_it(service, connect_to_service):
    answered = await answer_to(connect_to_service, GET + LOCAL + b"\r\n" + b"\x00\x01\r\n\r\n")

    assert statuses(answered) == [200]


@pytest.mark.parametrize(
    "body",
    [b"1\r\nx\r\n" * 20_000, b"1;" + b"e" * 20_000 + b"\r\nx\r\n", b"0" * 20_000 + b"1\r\nx\r\n"],
    ids=["of one byte", "with long extensions", "with long numbers"],
)
async def test_chunks_that_are_hardly_body_are_refused(service, connect_to_service, body):
    answered = await answer_to(connect_to_service, POST + LOCAL + JSON + CHUNKED + body)

    assert statuses(answered) == [413]


@pytest.mark.parametrize(
    "fields",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 2\r\nContent-Length: 3\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Transfer-Encoding: chunked, gzip\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length : 2\r\n",
        b"Transfer-Encoding:\x0bchunked\r\n",
    ],
)
async def test_a_body_of_two_lengths_is_refused(service, connect_to_service, fields):
    sent = POST + LOCAL + JSON + fields + b"\r\n{}\r\n0\r\n\r\n" + GET + LOCAL + b"\r\n"

    assert statuses(await answer_to(connect_to_service, sent)) == [400]


@pytest.mark.parametrize(
    "fields",
    [b"Content-Length: %d\r\n\r\n" % (15 * MIB), CHUNKED + b"%x\r\n" % (15 * MIB)],
    ids=["that says its size", "chunked"],
)
async def test_a_client_of_too_large_a_body_can_send_it_all_and_reads_why(
    service, connect_to_service, fields
):
    """Most clients read nothing before they have sent everything."""
    reader, writer = await connect_to_service()
    writer.write(POST + LOCAL + JSON + fields)

    sent = await flood(writer, b" " * MIB, 15 * MIB)

    assert sent == 15 * MIB
    async with asyncio.timeout(WAIT_S):
        assert statuses(await reader.readuntil(b"\r\n\r\n")) == [413]


async def test_nothing_is_sent_behind_a_refusal(service, connect_to_service):
    """A client that expects 100 gets none after the service refused the beginning of its body."""
    sent = POST + LOCAL + JSON + b"Expect: 100-continue\r\n" + CHUNKED + b"no number\r\n"

    assert statuses(await answer_to(connect_to_service, sent)) == [400]


async def test_the_service_itself_has_no_error(service):
    assert "Traceback" not in service.said
