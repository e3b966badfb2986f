"""Middleware of every request: its X-Request-ID, and HEAD answered as GET without the body.

The request id is taken from the request where it is sane, else made, and always returned. As the
outermost layer it also answers a request that is cancelled when the service stops, and gives back
the room that the request's body took.
"""

import asyncio
import re
import secrets

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.problems import ProblemRaised, problem_response

IS_HEAD = "tritond.is_head"
"""In the scope of a request that came as HEAD: nothing without an end may be begun for it."""
_SANE = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


class RequestIdMiddleware:
    """ASGI middleware; plain, because it runs for every hit."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application with the request id added to its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
        request_id = sent.decode() if _SANE.fullmatch(sent) else secrets.token_hex(8)

        scope.setdefault("state", {})["request_id"] = request_id

        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                header = (b"x-request-id", request_id.encode())
                message["headers"] = [*message["headers"], header]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except asyncio.CancelledError:
            # the server stops, and has no more time for this one
            if started:
                raise
            raised = ProblemRaised("stopping", "The service is stopping; ask again in a moment")
            await problem_response(Request(scope), raised)(scope, receive, send_with_id)
        finally:
            if held := scope["state"].get("held_body"):
                held.release()


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

        await self._app({**scope, "method": "GET", IS_HEAD: True}, receive, send_head)
