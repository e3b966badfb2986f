"""Pipelined requests on one connection to a small application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from service.http.bodies_in_flight import BodiesInFlight
from service.http.connection_bounds import ConnectionBounds, bounded_protocol

MIB = 1 << 20
SLOW = b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST /read HTTP/1.1\r\nHost: a\r\n"
BAD_TRAILERS = b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + b"a:b\r\n" * 10_000


class Served:
    """A server whose application answers `/slow` once `go_on` is set, and reads other bodies."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.begun: list[str] = []
        self.bodies = BodiesInFlight(4 * MIB, 2 * MIB)
        self.port = 0
        self.clients: list[asyncio.StreamWriter] = []

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.append(scope["path"])
        if scope["path"] == "/slow":
            await self.go_on.wait()
        else:
            while (message := await receive()).get("more_body"):
                pass
            if message["type"] == "http.disconnect":
                return
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.clients.append(writer)
        return reader, writer

    async def answer_to(self, sent: bytes) -> bytes:
        reader, writer = await self.connect()
        writer.write(sent)
        return await asyncio.wait_for(reader.read(), 10)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    served = Served()
    bounds = ConnectionBounds(connections=20, head_timeout_s=0.3, body_timeout_s=0.3)
    make = bounded_protocol(bounds, served.bodies)
    config = uvicorn.Config(served.app, interface="asgi3", log_config=None, ws="none")
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: make(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    served.port = server.sockets[0].getsockname()[1]
    yield served
    served.go_on.set()
    for writer in served.clients:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
    await until(lambda: not state.connections and not state.tasks)
    server.close()


@pytest.mark.parametrize(
    "behind",
    [
        POST + BAD_TRAILERS,
        b"GET /x HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000,
        b"GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\x00\r\n\r\n",
        b"GET /x HTTP/1.1\r\nHo",
    ],
    ids=["trailers", "a long head", "another name", "no request", "half a head"],
)
async def test_what_is_refused_behind_a_request_costs_it_no_answer(served: Served, behind: bytes):
    loop = asyncio.get_running_loop()
    loop.call_later(0.5, served.go_on.set)

    answered = await served.answer_to(SLOW + behind)

    assert answered.startswith(b"HTTP/1.1 200 OK")
    assert answered.count(b"HTTP/1.1 200") == 1
    assert served.begun == ["/slow"]


async def test_a_body_has_its_time_from_when_it_may_be_read(served: Served):
    """The service does not read it while it answers the request before it."""
    reader, writer = await served.connect()
    writer.write(SLOW + POST + b"Content-Length: 2\r\nConnection: close\r\n\r\n{")
    await asyncio.sleep(0.8)
    served.go_on.set()
    writer.write(b"}")

    answered = await asyncio.wait_for(reader.read(), 10)

    assert answered.count(b"HTTP/1.1 200") == 2


async def test_bodies_are_let_go_of_with_their_requests(served: Served):
    answered = await served.answer_to(
        POST + b"Content-Length: 100000\r\nConnection: close\r\n\r\n" + b"x" * 100_000
    )

    assert answered.startswith(b"HTTP/1.1 200 OK")
    assert served.bodies.held_bytes == {}


async def test_a_body_that_waits_counts_until_its_connection_is_lost(served: Served):
    """The server notices the loss when it reads the connection again."""
    _, writer = await served.connect()
    writer.write(SLOW + POST + b"Content-Length: 9\r\n\r\n12345678")
    await until(lambda: served.bodies.held_bytes == {"127.0.0.1": 8})

    writer.close()
    served.go_on.set()

    await until(lambda: served.bodies.held_bytes == {})


async def test_a_request_that_holds_its_body_counts_when_its_client_has_gone(served: Served):
    _, writer = await served.connect()
    writer.write(b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n12345678")
    await until(lambda: served.begun == ["/slow"])
    writer.close()
    await asyncio.sleep(0.1)

    assert served.bodies.held_bytes == {"127.0.0.1": 8}

    served.go_on.set()
    await until(lambda: served.bodies.held_bytes == {})


async def test_a_body_that_no_route_reads_is_not_kept(served: Served):
    _, writer = await served.connect()
    writer.write(b"GET /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n" + b"x" * 59_999)
    await until(lambda: served.begun == ["/slow"])

    assert served.bodies.held_bytes == {}


async def test_a_sender_who_has_gone_is_not_dropped_for_others(served: Served):
    """There is no one to answer, and the request keeps its bytes."""
    _, gone = await served.connect()
    gone.write(b"POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 9_000)
    await until(lambda: served.bodies.held_bytes.total() == 9_000)
    gone.close()

    await until(lambda: not served.bodies.arriving)
    assert served.bodies.held_bytes.total() == 9_000


async def until(is_so) -> None:
    async with asyncio.timeout(10):
        while not is_so():
            await asyncio.sleep(0.01)
