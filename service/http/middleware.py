"""Middleware of every request: its X-Request-ID, and HEAD answered as GET without the body.

The request id is taken from the request where it is sane, else made, and always returned. As the
outermost layer it counts requests, adds headers to answers, answers one that is cancelled because
the service stops or its API key was revoked, and calls what is to be called when a request is over.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from random import getrandbits
from time import perf_counter

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compiler.wanted import IS_WANTED
from jobs.work_context import REQUEST_ID, WORK
from service.http.problems import ProblemRaised, problem_response
from service.http.traffic import Traffic

IS_HEAD = "tritond.is_head"
"""Set in the scope of a HEAD request, which must not start an endless answer."""
CONNECTION = "tritond.connection"
"""The key of the connection in a request's state."""
REVOKED = "tritond.revoked"
"""Set in the state of a request that is cancelled because its API key was revoked."""
_AT_END = "tritond.at_end"
_ADDED = "tritond.added_headers"
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
        headers = state[_ADDED] = [(b"x-request-id", request_id.encode())]
        WORK.set(state)
        if (connection := state.get(CONNECTION)) is not None:
            IS_WANTED.set(lambda: not connection.is_lost)
        status = sent_bytes = 0
        began_s = perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.body":
                sent_bytes += len(message.get("body", b""))
            elif message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except asyncio.CancelledError:
            is_revoked = scope["state"].get(REVOKED, False)
            if status and is_revoked:
                return  # incomplete, so that the connection is closed
            if status:
                raise
            raised = _revoked() if is_revoked else _stopping()
            await problem_response(Request(scope), raised)(scope, receive, send_with_id)
        finally:
            for end in scope["state"].get(_AT_END, ()):
                end()
            self._traffic.note(scope, status, perf_counter() - began_s, sent_bytes)


def _revoked() -> ProblemRaised:
    headers = {"WWW-Authenticate": "Bearer", "Connection": "close"}
    detail = "The API key of this request was revoked while it was under way"
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
