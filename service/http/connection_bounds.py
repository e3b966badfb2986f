"""HTTP/1.1 on one connection, with bounds on what a slow or greedy client may hold open.

A request has a head, a body and what is around the body: sizes of chunks, their extensions, and
trailers, which are dropped. Each is bounded in bytes and time, whether a route reads it or not.

What is refused here is answered in bytes; everything else is uvicorn's.
"""

import asyncio
import fcntl
import re
import socket
import struct
import sys
import termios
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

import httptools
import orjson
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from compiler.problem import PROBLEM_BASE
from compiler.problem_kinds import PROBLEM_KINDS
from compiler.slug import Slug
from service.caller import site_of
from service.http.bodies_in_flight import IN_SCOPE, BodiesInFlight, BodyInFlight
from service.http.middleware import CONNECTION

Headers = list[tuple[bytes, bytes]]
RETRY_AFTER_S = 2
_END_OF_AUTHORITY = re.compile(rb"[/?#]")


class Refused(Exception):
    """Ends the parsing of a request."""

    def __init__(self, status: int, slug: str, detail: str) -> None:
        super().__init__(detail)
        self._status = status
        self._slug = slug

    def answer(self) -> bytes:
        """Return the answer, which is the connection's last."""
        kind = PROBLEM_KINDS[Slug(self._slug)]
        problem = {
            "type": PROBLEM_BASE + self._slug,
            "title": kind.title,
            "status": self._status,
            "detail": str(self),
            "slug": self._slug,
            "fault": kind.fault,
            "retryable": kind.is_retryable,
        }
        body = orjson.dumps(problem)
        head = (
            f"HTTP/1.1 {self._status} \r\ncontent-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nretry-after: {RETRY_AFTER_S}\r\n"
            "connection: close\r\n\r\n"
        )
        return head.encode() + body


def check_head(url: bytes, headers: Headers, *, is_upgrade: bool) -> None:
    """Raise Refused for a head that this service does not take."""
    _check_host(headers)
    _check_target(url, headers)
    _check_transfer_coding(headers)
    if is_upgrade and _has_body(headers):
        detail = "A request with an Upgrade header cannot have a body; remove the header"
        raise Refused(400, "malformed_request", detail)


def _check_host(headers: Headers) -> None:
    """Raise Refused for several hosts (RFC 9112, 3.2): a proxy might have checked another one."""
    count = sum(name == b"host" for name, _ in headers)
    if count > 1:
        raise Refused(400, "malformed_request", f"The request has {count} Host fields; send one")


def _check_target(url: bytes, headers: Headers) -> None:
    """Raise Refused for a whole URL with another name than Host has."""
    if url[:1] in {b"/", b"*"}:
        return
    scheme, _, rest = url.lower().partition(b"://")
    authority = _END_OF_AUTHORITY.split(rest, maxsplit=1)[0]
    hosts = [value.lower() for name, value in headers if name == b"host"]
    if scheme not in {b"http", b"https"} or hosts != [authority]:
        named = url[:255].decode("latin-1")
        detail = f"The request line names {named!r}, but Host names another host; send only a path"
        raise Refused(421, "misdirected", detail)


def _check_transfer_coding(headers: Headers) -> None:
    """Raise Refused for a body with a transfer coding other than `chunked`."""
    for name, value in headers:
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            coding = value[:255].decode("latin-1")
            detail = f"Transfer-Encoding is {coding!r}; only `chunked` is supported"
            raise Refused(400, "malformed_request", detail)


def _has_body(headers: Headers) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 "))
        for name, value in headers
    )


MAX_HEAD_BYTES = 64 << 10
MAX_HEADER_FIELDS = 128
MAX_METHOD_BYTES = 64
MAX_AROUND_BODY_BYTES = 8 << 10
"""Framing around a body: at most this at once, and in the long run this beyond the body."""
MAX_UNREAD_BYTES = 16 << 20
"""Limit of an unread body: its method has none, or its request is answered."""
MAX_PIPELINED = 8
SLOWEST_BYTES_PER_S = 16 << 10
LINGER_S, LINGER_BYTES = 1.0, 1 << 20
"""Limits for what a refused client still sends: closing at once may lose the answer."""
_NO_LINGER = struct.pack("ii", 1, 0)
_PIECE_BYTES = 4 << 10
"""Parsed at a time: what begins or ends within a piece is measured to that."""
_METHOD = re.compile(rb"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) [/*h]")
_KNOWN_METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """The maximum number of connections, and the deadlines of a head and a body.

    A body gets one more second for each 16 KiB.
    """

    connections: int
    head_timeout_s: float
    body_timeout_s: float


class _Part(Enum):
    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


class _Ended(Exception):
    """Ends the parsing of a connection that was refused already."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection within `bounds`; the bodies of its requests are among `bodies`."""

    def __init__(
        self, *args: Any, bounds: ConnectionBounds, bodies: BodiesInFlight, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.app: Any = partial(_released_after, self.app)
        self._bounds = bounds
        self._bodies = bodies
        self._address = ""
        self._timer: asyncio.TimerHandle | None = None
        self._answering: RequestResponseCycle | None = None
        """The request that is being answered, or the last one."""
        self.is_lost = False
        """True once the client has gone; read from any thread."""
        self._is_ended = False
        """True if further input is ignored."""
        self._lingering_bytes = 0
        self._part = _Part.HEAD
        self._is_new_part = False
        """True if the part changed within the current piece of input."""
        self._start = b""
        self._head_bytes = 0
        self._body = bodies.expect("", self._drop)
        self._body_began_s = 0.0
        self._body_bytes = 0
        self._unread_bytes = 0
        self._around_left_bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, unless there are too many."""
        super().connection_made(transport)  # type: ignore[arg-type]
        if len(self.connections) > self._bounds.connections:
            detail = f"The service has {self._bounds.connections} connections, its limit"
            self.transport.write(Refused(503, "too_many_connections", detail).answer())
            self.transport.close()
        else:
            self._address = site_of(self.client[0]) if self.client else ""
            self._await_head()

    def data_received(self, data: bytes) -> None:
        """Parse what came, as long as all of it is within the bounds."""
        self._unset_keepalive_if_required()
        if self._is_ended:
            self._lingering_bytes += len(data)
            if self._lingering_bytes > LINGER_BYTES:
                self.transport.abort()
        rest = memoryview(data)
        while rest and not self._is_ended and not self.transport.is_closing():
            if self._part is _Part.NOTHING:
                self._await_head()
            size_bytes = _PIECE_BYTES
            if self._part is _Part.HEAD:
                size_bytes = min(size_bytes, MAX_HEAD_BYTES - self._head_bytes)
                if len(self._start) < MAX_METHOD_BYTES:
                    self._start += rest[:MAX_METHOD_BYTES]
            piece = rest[:size_bytes]
            rest = rest[self._parse(piece) :]
        if self._part is _Part.BODY and self._timer is None and not self._is_ended:
            self._await_body()

    def _parse(self, piece: memoryview) -> int:
        """Return how many bytes of `piece` were parsed; what they belong to is measured."""
        self._is_new_part, body_bytes = False, self._body_bytes
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            end: int = upgrade.args[0]
            return end  # there is no other protocol; a request follows
        except httptools.HttpParserError as error:
            self._end_by(error)
        else:
            if not self._is_new_part:
                self._measure(len(piece), self._body_bytes - body_bytes)
        return len(piece)

    def _measure(self, parsed_bytes: int, body_bytes: int) -> None:
        """Refuse a request that has too much before its body, or around it."""
        if self._part is _Part.HEAD:
            self._head_bytes += parsed_bytes
            if self._head_bytes >= MAX_HEAD_BYTES:
                detail = f"The head of the request is larger than {MAX_HEAD_BYTES} bytes"
                self._refuse(Refused(431, "head_too_large", detail))
        elif self._part is _Part.BODY:
            left_bytes = self._around_left_bytes - (parsed_bytes - body_bytes) + body_bytes
            self._around_left_bytes = min(left_bytes, MAX_AROUND_BODY_BYTES)
            if left_bytes < 0:
                detail = (
                    f"Chunk sizes, extensions and trailers take over {MAX_AROUND_BODY_BYTES} bytes "
                    "more than the body"
                )
                self._refuse(Refused(413, "too_large", detail))

    def _end_by(self, error: httptools.HttpParserError) -> None:
        """Answer what could not be parsed, or was refused on the way."""
        cause = error.__context__
        method = _METHOD.match(self._start) if self._part is _Part.HEAD else None
        if isinstance(cause, Refused):
            self._refuse(cause)
        elif isinstance(cause, _Ended):
            pass
        elif method is not None and method[1] not in _KNOWN_METHODS:
            detail = f"{method[1].decode()} is not a known method"
            self._refuse(Refused(501, "not_implemented", detail))
        else:
            detail = f"This is not an HTTP/1.1 request: {error}"
            self._refuse(Refused(400, "malformed_request", detail))

    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait to be answered."""
        if len(self.pipeline) >= MAX_PIPELINED:
            self._end_after_answers()
            raise _Ended
        super().on_message_begin()
        if self._part is not _Part.HEAD:
            self._is_new_part = True
            self._await_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a field of a head; one behind the body is dropped."""
        if self._part is not _Part.HEAD:
            return
        if len(self.headers) >= MAX_HEADER_FIELDS:
            detail = f"The head of the request has more than {MAX_HEADER_FIELDS} fields"
            raise Refused(431, "head_too_large", detail)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request on."""
        check_head(self.url, self.headers, is_upgrade=self.parser.should_upgrade())
        self._body = self._bodies.expect(self._address, self._drop)
        self.scope[IN_SCOPE] = self._body  # type: ignore[literal-required]
        self.scope["state"][CONNECTION] = self
        super().on_headers_complete()
        self._stop_timer()
        self._part, self._is_new_part, self._start = _Part.BODY, True, b""
        self._body_began_s, self._body_bytes, self._unread_bytes = self.loop.time(), 0, 0
        self._around_left_bytes = MAX_AROUND_BODY_BYTES

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, if the application may still read it."""
        self._body_bytes += len(body)
        if self.cycle.response_complete or self.scope["method"] not in _METHODS_WITH_BODY:
            self._unread_bytes += len(body)
            if self._unread_bytes > MAX_UNREAD_BYTES:
                detail = f"A body that is not read is larger than {MAX_UNREAD_BYTES} bytes"
                raise Refused(413, "too_large", detail)
            return
        self._body.add(len(body))
        if self._is_ended:
            raise _Ended
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request; there may be another one."""
        self._stop_timer()
        self._part, self._is_new_part = _Part.NOTHING, True
        self._body.has_arrived()
        super().on_message_complete()
        if not self.parser.should_keep_alive():  # a trailer may ask for that, too
            self._end_after_answers()
        elif self.cycle.response_complete and not self.transport.is_closing():
            # uvicorn began to wait when it had answered, and ended that when the body went on
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and the requests that were not begun."""
        self.is_lost = True
        self._stop_timer()
        self._body.has_arrived()  # all that ever will
        super().connection_lost(exc)
        if self._answering is not None:
            _disconnect(self._answering)
        for cycle, _ in self.pipeline:
            _body_of(cycle.scope).release()
        self.pipeline.clear()

    @property
    def is_answering(self) -> bool:
        """True if a part of an answer was written, or is not acknowledged yet."""
        if self.transport.get_write_buffer_size() or self._unacknowledged_bytes():
            return True
        answering = self._answering
        return answering is not None and answering.response_started and self._is_in_use()

    def abort(self) -> None:
        """Close the connection at once, and drop what was not received yet."""
        # without it the kernel goes on to send what it holds, some MiB of an answer
        used: socket.socket = self.transport.get_extra_info("socket")
        if used.fileno() >= 0:
            used.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.transport.abort()

    def _unacknowledged_bytes(self) -> int:
        """Return how many bytes the kernel holds that the client has not acknowledged."""
        return self._kernel_bytes(termios.TIOCOUTQ)

    def _kernel_bytes(self, which: int) -> int:
        file: int = self.transport.get_extra_info("socket").fileno()
        if file < 0:  # the client has closed it
            return 0
        return int.from_bytes(fcntl.ioctl(file, which, bytes(4)), sys.byteorder)

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that nothing arrives on.

        A body may still arrive after its answer; and after a pause of this process, timers that are
        due run before what has arrived is read.
        """
        if self._part is _Part.BODY or self._kernel_bytes(termios.FIONREAD):
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            super().timeout_keep_alive_handler()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _is_in_use(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    def _await_head(self) -> None:
        self._stop_timer()
        self._part, self._head_bytes, self._start = _Part.HEAD, 0, b""
        self._timer = self.loop.call_later(self._bounds.head_timeout_s, self._head_is_late)

    def _head_is_late(self) -> None:
        # in use, it may not be read; after a pause of this process, it was not read yet
        if self._is_in_use() or self._kernel_bytes(termios.FIONREAD):
            self._timer = self.loop.call_later(self._bounds.head_timeout_s, self._head_is_late)
        else:
            detail = f"The head of the request took more than {self._bounds.head_timeout_s:g} s"
            self._refuse(Refused(408, "request_timeout", detail))

    def _await_body(self) -> None:
        may_take_s = self._bounds.body_timeout_s + self._body_bytes / SLOWEST_BYTES_PER_S
        self._timer = self.loop.call_at(self._body_began_s + may_take_s, self._body_is_late)

    def _body_is_late(self) -> None:
        if self.pipeline:  # its turn has not come, and it may not be read
            self._body_began_s = self.loop.time()
        timeout_s = self._bounds.body_timeout_s
        may_take_s = timeout_s + self._body_bytes / SLOWEST_BYTES_PER_S
        if self.loop.time() < self._body_began_s + may_take_s:
            self._await_body()
        else:
            detail = f"The body took longer than {timeout_s:g} s plus 1 s per 16 KiB"
            self._refuse(Refused(408, "request_timeout", detail))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop(self, reason: str) -> None:
        self._refuse(Refused(503, "too_many_bodies", f"{reason}; send fewer at once, or faster"))

    def _refuse(self, refused: Refused) -> None:
        """Answer the request that is arriving, where it can be, and end the connection."""
        if self.transport.is_closing():
            return
        if self._part is _Part.BODY and self.pipeline:
            cycle, _ = self.pipeline.popleft()
            _body_of(cycle.scope).release()
            self._end_after_answers()
        elif self._part is not _Part.BODY and self._is_in_use():
            self._end_after_answers()
        else:
            if self._part is not _Part.BODY or not self.cycle.response_started:
                self.transport.write(refused.answer())
            if self._part is _Part.BODY:
                _disconnect(self.cycle)
            self._linger()

    def _end_after_answers(self) -> None:
        """Read nothing more, and close the connection with the last answer that is due."""
        self._is_ended = True
        self._stop_timer()
        last = self.pipeline[0][0] if self.pipeline else self._answering
        if last is not None and not last.response_complete:
            last.keep_alive = False
        else:
            self.transport.close()

    def _linger(self) -> None:
        """Send nothing more, and close the connection soon."""
        self._is_ended = True
        self._stop_timer()
        self._unset_keepalive_if_required()
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGER_S, self.transport.abort)


def bounded_protocol(bounds: ConnectionBounds, bodies: BodiesInFlight) -> Any:
    """Return what uvicorn makes a protocol with for each connection."""
    return partial(BoundedProtocol, bounds=bounds, bodies=bodies)


async def _released_after(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Run `app`, which has the body of its request until it ends."""
    try:
        await app(scope, receive, send)
    finally:
        _body_of(scope).release()


def _body_of(scope: Any) -> BodyInFlight:
    body: BodyInFlight = scope[IN_SCOPE]
    return body


def _disconnect(cycle: RequestResponseCycle) -> None:
    """Inform the application that the client is gone."""
    cycle.disconnected, cycle.waiting_for_100_continue = True, False
    cycle.message_event.set()
