"""A connection on which something arrives is not idle, however late the process reads it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import uvicorn
import uvloop

from service.http.bodies_in_flight import BodiesInFlight
from service.http.connection_bounds import BoundedProtocol, ConnectionBounds
from tests.waiting import wait_until

IDLE_S = 0.3
TIME_TO_PAUSE_S = 3.0
"""A connection may be idle for so long where a test makes the server pause before."""
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
PAUSE = GET.replace(b" / ", b" /pause ")
ANSWER: list[dict[str, Any]] = [
    {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]},
    {"type": "http.response.body", "body": b"ok"},
]


class Served:
    """A server that pauses for longer than a connection may be idle, when it reads `PAUSE`."""

    def __init__(self, idle_s: float = 60, head_timeout_s: float = 60) -> None:
        self.pauses, self.goes_on = threading.Event(), threading.Event()
        bounds = ConnectionBounds(connections=9, head_timeout_s=head_timeout_s, body_timeout_s=60)
        pause_s = 1.1 * min(idle_s, head_timeout_s)
        pauses, goes_on = self.pauses, self.goes_on

        class Pausing(BoundedProtocol):
            def data_received(self, data: bytes) -> None:
                if data == PAUSE:
                    pauses.set()
                    goes_on.wait(60)
                    time.sleep(
                        pause_s
                    )  # timers are due by then, and what others have sent is there
                super().data_received(data)

        protocol: Any = partial(Pausing, bounds=bounds, bodies=BodiesInFlight(1 << 30, 1 << 30))
        config = uvicorn.Config(
            answer, port=0, http=protocol, interface="asgi3", lifespan="off", log_config=None
        )
        setattr(config, "timeout_keep_alive", idle_s)  # noqa: B010 - uvicorn's type is int
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        wait_until(lambda: self._server.started, "the server has started")
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._server.serve())

    def stop(self) -> None:
        self.goes_on.set()
        self._server.should_exit = True
        self._thread.join(60)


async def answer(scope: Any, receive: Any, send: Any) -> None:
    for message in ANSWER:
        await send(message)


@pytest.fixture
def served() -> Iterator[Callable[..., Served]]:
    made: list[Served] = []

    def serve(**settings: float) -> Served:
        made.append(Served(**settings))
        return made[-1]

    yield serve
    for each in made:
        each.stop()


def connected(server: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def answer_on(client: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(b"ok") and (part := client.recv(1000)):
        answer += part
    return answer


def test_a_request_that_arrived_in_a_pause_is_answered(served: Callable[..., Served]) -> None:
    server = served(idle_s=TIME_TO_PAUSE_S)
    with connected(server) as client, connected(server) as other:
        client.sendall(GET)
        assert answer_on(client).startswith(b"HTTP/1.1 200")
        other.sendall(PAUSE)
        assert server.pauses.wait(60)
        client.sendall(GET)
        server.goes_on.set()
        assert answer_on(client).startswith(b"HTTP/1.1 200")


def test_the_first_request_of_a_connection_may_arrive_in_a_pause(
    served: Callable[..., Served],
) -> None:
    server = served(head_timeout_s=TIME_TO_PAUSE_S)
    with connected(server) as client, connected(server) as other:
        other.sendall(GET)
        assert answer_on(other).startswith(b"HTTP/1.1 200")
        other.sendall(PAUSE)
        assert server.pauses.wait(60)
        client.sendall(GET)
        server.goes_on.set()
        assert answer_on(client).startswith(b"HTTP/1.1 200")


def test_a_body_may_go_on_to_arrive_after_its_answer(served: Callable[..., Served]) -> None:
    server = served(idle_s=IDLE_S)
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
    with connected(server) as client:
        client.sendall(head + b"a")
        assert answer_on(client).startswith(b"HTTP/1.1 200")
        time.sleep(4 * IDLE_S)
        client.sendall(b"bcd" + GET)
        assert answer_on(client).startswith(b"HTTP/1.1 200")


def test_a_connection_on_which_nothing_arrives_is_closed(served: Callable[..., Served]) -> None:
    with connected(served(idle_s=IDLE_S)) as client:
        client.sendall(GET)
        assert answer_on(client).startswith(b"HTTP/1.1 200")
        assert client.recv(1) == b""
