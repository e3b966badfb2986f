"""Middleware of every request: its X-Request-ID, and HEAD answered as GET without the body.

The request id is taken from the request where it is sane, else made, and always returned. As the
outermost layer it counts requests, adds headers to answers, answers one that is cancelled because
the service stops or its API key was revoked, and calls what is to be called when a request is over.
It also sends no JSON answer of more than `MAX_ANSWER_BYTES`, whatever a route has made.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from random import getrandbits
from time import perf_counter

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compiler.wanted import IS_WANTED
from jobs.work_context import REQUEST_ID, WORK
from service.http.problems import ProblemRaised, problem_response
from service.http.traffic import Traffic
from store.byte_limits import MAX_ANSWER_BYTES

IS_HEAD = "tritond.is_head"
"""Set in the scope of a HEAD request, which must not start an endless answer."""
CONNECTION = "tritond.connection"
"""The key of the connection in a request's state."""
REVOKED = "tritond.revoked"
"""Set in the state of a request that is cancelled because its API key was revoked."""
STREAMED = "tritond.streamed"
"""Set in the state of a request that is answered with a stored file, which may be larger JSON."""
_AROUND_BYTES = 64 << 10
"""Bytes that a route may add around the records that it has counted."""
_AT_END = "tritond.at_end"
_ADDED = "tritond.added_headers"
logger = logging.getLogger(__name__)
_SANE = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


def at_end(scope: Scope, end: Callable[[], object]) -> None:
    """Have `end` called when the request of `scope` is over, however it ends."""
    scope.setdefault("state", {}).setdefault(_AT_END, []).append(end)


def add_headers(scope: Scope, headers: Mapping[str, str]) -> None:
    """Add `headers` to the answer of the request of `scope`, whatever it will be."""
    added = scope.setdefault("state", {}).setdefault(_ADDED, [])
    added += [(name.lower().encode(), value.encode()) for name, value in headers.items()]


class RequestIdMiddleware:
    """ASGI middleware; plain, because it runs for every hit."""

    def __init__(self, app: ASGIApp, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application with the request id added to its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        # random, not secret: a system call for each request would buy nothing
        request_id = sent.decode() if _SANE.fullmatch(sent) else f"{getrandbits(64):016x}"
        state = scope.setdefault("state", {})
        state[REQUEST_ID] = request_id
        state[_ADDED] = [(b"x-request-id", request_id.encode())]
        WORK.set(state)
        if (connection := state.get(CONNECTION)) is not None:
            IS_WANTED.set(lambda: not connection.is_lost)
        logger.debug("request %s: received %s %s", request_id, scope["method"], scope["path"])
        sending = _Sending(scope, receive, send)
        began_s = perf_counter()
        try:
            await self._app(scope, receive, sending)
        except asyncio.CancelledError:
            is_revoked = scope["state"].get(REVOKED, False)
            if sending.status and is_revoked:
                return  # incomplete, so that the connection is closed
            if sending.status:
                raise
            raised = _revoked() if is_revoked else _stopping()
            await problem_response(Request(scope), raised)(scope, receive, sending)
        finally:
            for end in scope["state"].get(_AT_END, ()):
                end()
            took_s, size_bytes = perf_counter() - began_s, sending.sent_bytes
            self._traffic.note(scope, sending.status, took_s, size_bytes)
            logger.debug(
                "request %s: answered %d, %d bytes, after %.1f ms",
                *(request_id, sending.status, size_bytes, took_s * 1000),
            )


class _Sending:
    """Sends the answer to one request, with the headers that were added to it.

    A JSON answer that is too long is replaced by a problem.
    """

    __slots__ = ("_is_refused", "_receive", "_scope", "_send", "sent_bytes", "status")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._is_refused = False
        self.status = self.sent_bytes = 0

    async def __call__(self, message: Message) -> None:
        if self._is_refused:
            return
        if message["type"] == "http.response.body":
            self.sent_bytes += len(message.get("body", b""))
        elif message["type"] == "http.response.start":
            state = self._scope["state"]
            size_bytes = _json_bytes(message["headers"])
            if size_bytes > MAX_ANSWER_BYTES + _AROUND_BYTES and STREAMED not in state:
                refusal = problem_response(Request(self._scope), _too_large(size_bytes))
                await refusal(self._scope, self._receive, self)
                self._is_refused = True
                return
            self.status = message["status"]
            message["headers"] = [*message["headers"], *state[_ADDED]]
        await self._send(message)


def _json_bytes(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """Return the size of a JSON answer; 0 for another one, or a part of one."""
    size_bytes, is_json = 0, False
    for name, value in headers:
        if name == b"content-length":
            size_bytes = int(value)
        elif name == b"content-type":
            is_json = value.endswith(b"json")
    return size_bytes if is_json else 0


def _too_large(size_bytes: int) -> ProblemRaised:
    detail = (
        f"The answer has {size_bytes} bytes, more than the limit of {MAX_ANSWER_BYTES} for a JSON "
        "answer; ask for less"
    )
    return ProblemRaised("too_large", detail, limit=MAX_ANSWER_BYTES)


def _revoked() -> ProblemRaised:
    headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
    detail = "The API key of this request was revoked while it was running"
    return ProblemRaised("unauthorized", detail, headers=headers)


def _stopping() -> ProblemRaised:
    # the server has no more time for this one
    return ProblemRaised("stopping", "The service is stopping; ask again in a moment")


class HeadMiddleware:
    """ASGI middleware that lets routes see GET."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a HEAD on as GET, and its answer on without the body."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        as_get = {**scope, "method": "GET", IS_HEAD: True}
        try:
            await self._app(as_get, receive, send_head)
        finally:
            scope["route"] = as_get.get("route")
