"""Clients that send slowly, endlessly, or too many at once do not stop others."""

import asyncio

import pytest

from tests.waiting import comes_true

HEAD = b"POST /v1/compilations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /v1/compilations HTTP/1.1\r\nHost: localh", HEAD + b"Content-Length: 9\r\n\r\n{"],
    ids=["nothing", "half a head", "half a body"],
)
async def test_a_connection_is_not_held_open_by_a_slow_client(service, connect_to_service, sent):
    reader, writer = await connect_to_service()
    writer.write(sent)

    answer = await asyncio.wait_for(reader.read(), 60)

    assert answer.split(b" ", 2)[1] == b"408"
    assert b"application/problem+json" in answer


async def test_an_endless_head_is_not_kept(service, connect_to_service):
    _reader, writer = await connect_to_service()
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")

    with pytest.raises(ConnectionError):
        await send_for_ever(writer)


async def send_for_ever(writer):
    async with asyncio.timeout(60):
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()


async def test_a_body_that_comes_slowly_but_steadily_is_taken(service, connect_to_service):
    reader, writer = await connect_to_service()
    writer.write(b"POST /v1/compilations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n")
    writer.write(b"Content-Type: application/json\r\nConnection: close\r\n\r\n")
    for _ in range(6):
        writer.write(b" " * 10_000)
        await asyncio.sleep(0.3)

    answer = await asyncio.wait_for(reader.read(), 60)

    assert answer.split(b" ", 2)[1] == b"400", "not JSON, but all of it was read"


async def test_more_connections_than_there_may_be_are_refused(service, connect_to_service, http):
    held = [await connect_to_service() for _ in range(58)]
    for _, writer in held:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")

    further = [await connect_to_service() for _ in range(8)]
    answers = [await asyncio.wait_for(reader.read(500), 60) for reader, _ in further]

    assert any(b" 503 " in answer and b"too_many_connections" in answer for answer in answers)
    for _, writer in held + further:
        writer.close()

    async def is_served_again():
        return (await http.get("/healthz")).status_code == 200

    await comes_true(is_served_again)
