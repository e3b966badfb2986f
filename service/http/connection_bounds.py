"""HTTP/1.1 on one connection, with bounds on what a slow or greedy client may hold open.

What is refused here never becomes a request, so it is answered in bytes; everything else is
uvicorn's. How long a body may take is `service.http.body`'s.
"""

import asyncio
import re
from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from compiler.problem import PROBLEM_BASE, TITLES

MAX_HEAD_BYTES = 64 << 10
MAX_METHOD_BYTES = 64
_METHOD = re.compile(rb"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) [/*h]")
_KNOWN_METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
RETRY_AFTER_S = 2


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """How many connections there may be, and how long the head of a request may take."""

    connections: int
    head_timeout_s: float


class BoundedProtocol(HttpToolsProtocol):
    """One connection within `bounds`."""

    def __init__(self, *args: Any, bounds: ConnectionBounds, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bounds = bounds
        self._head_bytes = 0
        self._start = b""
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many."""
        super().connection_made(transport)  # type: ignore[arg-type]
        if len(self.connections) > self._bounds.connections:
            detail = f"The service has {self._bounds.connections} connections, its most"
            self._refuse(503, "too_many_connections", detail)
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Parse what came, as long as the head stays small."""
        if self.transport.is_closing():
            return
        if self._in_head and len(self._start) < MAX_METHOD_BYTES:
            self._start += data[:MAX_METHOD_BYTES]
        super().data_received(data)
        if self._in_head and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                detail = f"The head of the request is larger than {MAX_HEAD_BYTES} bytes"
                self._refuse(431, "head_too_large", detail)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request of HTTP/1.1, or asks with a method that nobody knows."""
        method = _METHOD.match(self._start)
        if method is not None and method[1] not in _KNOWN_METHODS:
            detail = f"{method[1].decode()} is no method that is known here"
            self._refuse(501, "not_implemented", detail)
        else:
            self._refuse(400, "malformed_request", msg)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a head."""
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        """Hand the request on."""
        self._in_head, self._start = False, b""
        self._stop_timer()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._stop_timer()
        self._in_head, self._head_bytes = True, 0
        self._timer = self.loop.call_later(self._bounds.head_timeout_s, self._too_slow)

    def _too_slow(self) -> None:
        if self.transport.is_closing():
            return
        detail = f"The head of the request took more than {self._bounds.head_timeout_s:g} s"
        self._refuse(408, "request_timeout", detail)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, slug: str, detail: str) -> None:
        problem = {"type": PROBLEM_BASE + slug, "title": TITLES[slug], "status": status}
        body = orjson.dumps(problem | {"detail": detail, "slug": slug})
        head = (
            f"HTTP/1.1 {status} \r\ncontent-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nretry-after: {RETRY_AFTER_S}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


def bounded_protocol(bounds: ConnectionBounds) -> Any:
    """Return what uvicorn makes a protocol with for each connection."""
    return partial(BoundedProtocol, bounds=bounds)
