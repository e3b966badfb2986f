"""Middleware that traces requests. It is part of the application only where tracing is on."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobs import tracing

MAX_HEADER_CHARS = 128


class TracingMiddleware:
    """ASGI middleware; each request is a span, part of the client's trace if it names one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application within a span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = next((value for name, value in scope["headers"] if name == b"traceparent"), b"")
        parent = sent.decode("latin-1") if len(sent) <= MAX_HEADER_CHARS else ""
        method = scope["method"]
        with tracing.span(method, {"http.request.method": method}, parent, of_server=True) as span:

            async def send_noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                await send(message)

            try:
                await self._app(scope, receive, send_noting_status)
            finally:
                if path := getattr(scope.get("route"), "path", None):
                    span.update_name(f"{method} {path}")
                    span.set_attribute("http.route", path)
