"""HTTP/1.1 on one connection, with bounds on what a slow or greedy client may hold open.

What is refused here never becomes a request, so it is answered in bytes; everything else is
uvicorn's. A head, a body and what follows a body each have a size and a time. Trailers are dropped:
nothing behind the head becomes a header.
"""

import asyncio
import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from compiler.problem import PROBLEM_BASE, TITLES

MAX_HEAD_BYTES = 64 << 10
MAX_TRAILER_BYTES = 8 << 10
MAX_PIPELINED = 64
"""Requests that wait on one connection for the answer to the first."""
MAX_DISCARDED_BYTES = 16 << 20
"""Of a body that comes after its request was answered; a client may still be writing it."""
MAX_METHOD_BYTES = 64
SLOWEST_BYTES_PER_S = 16 << 10
CONNECTION = "tritond.connection"
"""In the state of a request: its connection."""
_METHOD = re.compile(rb"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) [/*hH]")
_AUTHORITY = re.compile(rb"[a-z][a-z0-9+.-]*://([^/?#]*)", re.IGNORECASE)
_KNOWN_METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
_FIELD_BYTES = 4
"""Of a header beside its name and its value: a colon, a space, the end of the line."""
_LINE_BYTES = 16
"""Of a line, at most, beside what the parser hands over of it: spaces, a length, its end."""
RETRY_AFTER_S = 2


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """How many connections there may be, and how long the parts of a request may take."""

    connections: int
    head_timeout_s: float
    body_timeout_s: float
    """Of a body, beside a second for each `SLOWEST_BYTES_PER_S` of it."""


class _Part(Enum):
    HEAD = auto()
    BODY = auto()
    """The body, or the trailers behind it."""
    END = auto()
    """A request was complete, and nothing of the next one has come."""


class _RefusedError(Exception):
    """Stops the parser: the connection is being closed."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection within `bounds`."""

    def __init__(self, *args: Any, bounds: ConnectionBounds, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bounds = bounds
        self._part = _Part.HEAD
        self._start = b""
        self._parsed_bytes = 0
        """Of what came last, at least."""
        self._head_bytes = 0
        self._body_bytes = 0
        self._body_began = 0.0
        self._trailer_bytes = 0
        self._discarded_bytes = 0
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
        """Parse what came, as long as the head and what follows the body stay small."""
        if self.transport.is_closing():
            return
        if self._part is _Part.END:
            self._start = b""
            self._await_head()  # empty lines begin no message, but must not hold a connection
        if self._part is _Part.HEAD and len(self._start) < MAX_METHOD_BYTES:
            self._start += data[:MAX_METHOD_BYTES]
        self._parsed_bytes = 0
        super().data_received(data)
        if self.transport.is_closing():
            return
        if len(data) > self._parsed_bytes:
            # the parser keeps what has no end yet: a name or a value
            self._count_unparsed(len(data) - self._parsed_bytes)
        if self._part is _Part.BODY and self._timer is None:
            self._await_body()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request of HTTP/1.1, or asks with a method that nobody knows."""
        if self.transport.is_closing():  # refused from within the parser
            return
        method = _METHOD.match(self._start) if self._part is _Part.HEAD else None
        if method is not None and method[1] not in _KNOWN_METHODS:
            detail = f"{method[1].decode()} is no method that is known here"
            self._refuse(501, "not_implemented", detail)
        else:
            self._refuse(400, "malformed_request", msg)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a head."""
        self._parsed_bytes += _LINE_BYTES
        super().on_message_begin()
        if len(self.pipeline) >= MAX_PIPELINED:
            self._abort()
        self._await_head()

    def on_url(self, url: bytes) -> None:
        """Take a part of the target."""
        self._parsed_bytes += len(url)
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; drop a trailer."""
        size = len(name) + len(value)
        self._parsed_bytes += size + _LINE_BYTES
        if self._part is _Part.HEAD:
            self._count_head(size + _FIELD_BYTES)
            super().on_header(name, value)
        else:
            self._count_trailer(size + _FIELD_BYTES)

    def on_chunk_header(self) -> None:
        """Note the line before a chunk; what it says beside its length is counted as unparsed."""
        self._parsed_bytes += _LINE_BYTES

    def on_headers_complete(self) -> None:
        """Hand the request on."""
        self._stop_timer()
        self._refuse_other_authority()
        self._part, self._start = _Part.BODY, b""
        self._body_bytes = self._trailer_bytes = self._discarded_bytes = 0
        self._body_began = self.loop.time()
        self.scope["state"][CONNECTION] = self
        super().on_headers_complete()

    @property
    def is_answering(self) -> bool:
        """Whether a part of an answer was written, or waits to be received."""
        if self.transport.get_write_buffer_size():
            return True
        return self.cycle.response_started and not self.cycle.response_complete

    def abort(self) -> None:
        """Close it at once, whatever was not received yet."""
        self.transport.abort()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._parsed_bytes += len(body)
        self._body_bytes += len(body)
        self._trailer_bytes = 0  # it was the line of a chunk
        if self.cycle.response_complete:
            self._discarded_bytes += len(body)
            if self._discarded_bytes > MAX_DISCARDED_BYTES:
                self._abort()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request; what follows is another one."""
        self._stop_timer()
        self._part = _Part.END
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    def _count_unparsed(self, size: int) -> None:
        try:
            if self._part is _Part.HEAD:
                self._count_head(size)
            elif self._part is _Part.BODY:
                self._count_trailer(size)
        except _RefusedError:
            pass  # it is said; there is no parser to stop

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            detail = f"The head of the request is larger than {MAX_HEAD_BYTES} bytes"
            self._refuse(431, "head_too_large", detail)
            raise _RefusedError

    def _count_trailer(self, size: int) -> None:
        self._trailer_bytes += size
        if self._trailer_bytes > MAX_TRAILER_BYTES:
            detail = f"What follows the body is larger than {MAX_TRAILER_BYTES} bytes; leave it out"
            self._refuse(431, "head_too_large", detail)
            raise _RefusedError

    def _refuse_other_authority(self) -> None:
        """Refuse a target `http://name/...` unless `Host` has the same name."""
        named = _AUTHORITY.match(self.url)
        if named is None:
            return
        hosts = [value for name, value in self.headers if name == b"host"]
        if [named[1].lower()] != [host.strip().lower() for host in hosts]:
            detail = "The target of the request names another host than its Host header"
            self._refuse(421, "misdirected", detail)
            raise _RefusedError

    def _await_head(self) -> None:
        self._stop_timer()
        self._part, self._head_bytes = _Part.HEAD, 0
        self._timer = self.loop.call_later(self._bounds.head_timeout_s, self._head_is_late)

    def _head_is_late(self) -> None:
        detail = f"The head of the request took more than {self._bounds.head_timeout_s:g} s"
        self._refuse(408, "request_timeout", detail)

    def _await_body(self) -> None:
        self._timer = self.loop.call_at(self._body_ends(), self._body_may_be_late)

    def _body_ends(self) -> float:
        allowed_s = self._bounds.body_timeout_s + self._body_bytes / SLOWEST_BYTES_PER_S
        return self._body_began + allowed_s

    def _body_may_be_late(self) -> None:
        self._timer = None
        if self.flow.read_paused:  # the service is slow, not the client
            self._body_began += self._bounds.body_timeout_s
        if self.loop.time() < self._body_ends():
            self._await_body()
            return
        detail = (
            f"The body took more than {self._bounds.body_timeout_s:g} s, and a second for each "
            f"{SLOWEST_BYTES_PER_S >> 10} KiB of it"
        )
        self._refuse(408, "request_timeout", detail)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, slug: str, detail: str) -> None:
        """Close the connection, with an answer where none has begun that it would be part of."""
        if self.transport.is_closing():
            return
        if self._may_answer():
            problem = {"type": PROBLEM_BASE + slug, "title": TITLES[slug], "status": status}
            body = orjson.dumps(problem | {"detail": detail, "slug": slug})
            head = (
                f"HTTP/1.1 {status} \r\ncontent-type: application/problem+json\r\n"
                f"content-length: {len(body)}\r\nretry-after: {RETRY_AFTER_S}\r\n"
                "connection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self._stop_timer()
        self.transport.close()

    def _may_answer(self) -> bool:
        """Return whether an answer written now is that of the request that is being read."""
        cycle = self.cycle
        if self._part is not _Part.BODY:
            return cycle is None or cycle.response_complete
        if self.pipeline or cycle.response_started:
            return False
        cycle.disconnected = True  # the application's own answer comes too late
        cycle.message_event.set()
        return True

    def _abort(self) -> None:
        self._stop_timer()
        self.transport.close()
        raise _RefusedError


def bounded_protocol(bounds: ConnectionBounds) -> Any:
    """Return what uvicorn makes a protocol with for each connection."""
    return partial(BoundedProtocol, bounds=bounds)
