"""The Model Context Protocol, as a part of the service: `POST /mcp`, without sessions.

The service checks the caller, the size of the body and the origin, as for every route, before the
protocol's library sees a byte. The library is loaded for the first message: most services never
get one, and start in half the time without it.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import Context
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from service.adapter_host import AdapterHost, host_of
from service.feature import Feature
from service.http.body import OF_TOOL, check_json_size, read_body

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
MAX_MESSAGE_BYTES = 2 << 20
"""Less than for other bodies, since the protocol's library echoes messages that it refuses."""


class McpEndpoint:
    """The MCP endpoint of one application; it serves within `running`."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._ending = asyncio.Event()
        self._loaded: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._running: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve requests within this context, which can be entered once."""
        try:
            yield
        finally:
            self._ending.set()
            if self._running is not None:
                await self._running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one message. Raises ProblemRaised for requests that every route refuses."""
        request = Request(scope, receive)
        host = host_of(request)
        await host.identify(request, "compile", "launch")
        limit_bytes = min(host.max_body_bytes, MAX_MESSAGE_BYTES)
        posted = await read_body(request, limit_bytes)
        check_json_size(posted, OF_TOOL)
        body: bytes | None = posted

        async def read_again() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            message = {"type": "http.request", "body": body, "more_body": False}
            body = None
            return message

        protocol = await self._protocol(host)
        await protocol.handle_request(scope, read_again, send)

    async def _protocol(self, host: AdapterHost) -> "StreamableHTTPSessionManager":
        """Return the protocol's handler, loaded once even for concurrent requests."""
        if self._loaded is None:
            self._loaded = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(
                self._run(self._loaded, host.max_body_bytes),
                context=Context(),  # it outlives the request that happens to be the first
            )
        return await asyncio.shield(self._loaded)

    async def _run(
        self, loaded: "asyncio.Future[StreamableHTTPSessionManager]", max_body_bytes: int
    ) -> None:
        """Load the protocol without blocking other requests, and run it until the end."""
        try:
            tools = await asyncio.to_thread(importlib.import_module, "adapters.mcp.protocol")
            protocol = tools.protocol(self._version, max_body_bytes)
        except Exception as error:  # noqa: BLE001 - the caller gets the error
            loaded.set_exception(error)
            return
        async with protocol.run():
            loaded.set_result(protocol)
            await self._ending.wait()


class _McpRoute:
    """The ASGI application of the route; it has no streams to GET and no sessions to DELETE."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = _ROUTE
        endpoint: McpEndpoint = scope["app"].state.mcp
        await endpoint(scope, receive, send)


_ROUTE = Route(PATH, _McpRoute(), methods=["POST"], include_in_schema=False)


@asynccontextmanager
async def _serving(app: FastAPI) -> AsyncIterator[None]:
    """Serve the endpoint of `app` within this context."""
    app.state.mcp = McpEndpoint(app.version)
    async with app.state.mcp.running():
        yield


MCP = Feature(plain_routes=(_ROUTE,), serving=_serving)
