"""HEAD, wherever GET is: what GET would answer, without its body."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

IS_HEAD = "tritond.is_head"
"""In the scope of a request that came as HEAD: nothing without an end may be begun for it."""


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
