"""Work in a thread ends once the client that it is for has hung up."""

from __future__ import annotations

import asyncio

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from compiler.wanted import Unwanted, check_wanted
from service.caller_threads import CallerThreads
from service.http.bodies_in_flight import BodiesInFlight
from service.http.connection_bounds import ConnectionBounds, bounded_protocol
from service.http.middleware import RequestIdMiddleware
from service.http.traffic import Traffic
from tests.waiting import comes_true

ASKED = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"


class Application:
    """Its requests take a thread each, and do not end by themselves."""

    def __init__(self) -> None:
        self.threads = CallerThreads()
        self.steps = 0
        self.ended = 0

    async def __call__(self, _scope: Scope, _receive: Receive, _send: Send) -> None:
        try:
            await self.threads.run(self._work)
        except Unwanted:
            self.ended += 1

    def _work(self) -> None:
        while True:
            check_wanted()
            self.steps += 1


async def test_work_ends_when_its_client_hangs_up_and_that_of_others_goes_on():
    app = Application()
    bounds = ConnectionBounds(connections=20, head_timeout_s=10, body_timeout_s=10)
    make = bounded_protocol(bounds, BodiesInFlight(1 << 20, 1 << 20))
    served = RequestIdMiddleware(app, Traffic())
    config = uvicorn.Config(served, interface="asgi3", log_config=None, ws="none")
    config.load()
    loop, state = asyncio.get_running_loop(), ServerState()
    server = await loop.create_server(
        lambda: make(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    port = server.sockets[0].getsockname()[1]
    clients = []
    for _ in range(2):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(ASKED)
        clients.append(writer)
    assert await comes_true(lambda: app.steps)

    clients[0].transport.abort()
    assert await comes_true(lambda: app.ended)
    before = app.steps
    assert await comes_true(lambda: app.steps > before)
    assert app.ended == 1

    clients[1].transport.abort()
    assert await comes_true(lambda: app.ended == 2)
    server.close()
    app.threads.shutdown()
