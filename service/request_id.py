"""X-Request-ID: taken from the request where it is sane, else made, and always returned.

Being outside of all else, it also sees to it that a request which is cut off has an answer.
"""

import asyncio
import re
import secrets

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.problems import ProblemRaised, problem_response

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
