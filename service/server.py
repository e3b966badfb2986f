"""The uvicorn server of this process: its limits, and a shutdown that answers every request.

On a signal to stop, requests that wait for a job are answered at once with the job's current state,
and event streams end. Requests that are still arriving have `drain_s` to finish.
"""

import asyncio
import contextlib
import logging
import resource
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import uvicorn
import uvloop
from fastapi import FastAPI

from jobs.loop_steps import LoopSteps
from service.http.bodies_in_flight import BodiesInFlight
from service.http.connection_bounds import ConnectionBounds, bounded_protocol
from service.settings import ServiceSettings

OTHER_FILES = 256  # descriptors for other purposes than client connections
KEEP_ALIVE_S = 20
"""Clients reuse a connection that is idle for less: httpx, and so tritonc, for 5 s. With the same
time on both sides, the service would close some in the moment of the next request."""
logger = logging.getLogger("service")


class HttpServer(uvicorn.Server):
    """Serves `app`, and ends its waits before it closes connections."""

    def __init__(self, app: FastAPI, settings: ServiceSettings) -> None:
        bounds = ConnectionBounds(
            connections=min(settings.max_connections, _most_files() - OTHER_FILES),
            head_timeout_s=settings.head_timeout_s,
            body_timeout_s=settings.body_timeout_s,
        )
        bodies = BodiesInFlight(settings.max_bodies_bytes, settings.max_bodies_bytes_per_caller)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            loop="uvloop",
            http=bounded_protocol(bounds, bodies),
            ws="none",
            proxy_headers=bool(settings.proxies),
            forwarded_allow_ips=list(settings.proxies),
            access_log=False,
            log_config=None,  # its loggers write as ours do
            log_level="warning",
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=round(settings.drain_s),
        )
        super().__init__(config)
        self._steps = LoopSteps(settings.slow_steps)
        self._app = app
        self._drain_s = settings.drain_s
        app.state.stop = self.stop

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal, as uvicorn does; where slow steps are wanted, measure them."""
        if not self._steps.is_wanted:
            super().run(sockets)
            return
        with asyncio.Runner(loop_factory=partial(MeasuredLoop, self._steps)) as runner:
            runner.run(self.serve(sockets))

    def stop(self) -> None:
        """Shut down, because the application can no longer serve."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, and log the address."""
        await super().startup(sockets)
        for item in (each for server in self.servers for each in server.sockets):
            address, port = item.getsockname()[:2]
            host = f"[{address}]" if ":" in address else address
            logger.info("listening on http://%s:%d", host, port)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all waits, then end as uvicorn does."""
        open_requests = len(self.server_state.tasks)
        logger.info("stopping; %d open requests have %g s", open_requests, self._drain_s)
        self._app.state.service.release_waiters()
        await super().shutdown(sockets)
        logger.info("stopped")


def _most_files() -> int:
    """Raise the limit on open files as far as allowed, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 1 << 20
    with contextlib.suppress(ValueError, OSError):  # keep the current limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft


# A loop of uvloop whose steps are measured.
#
# Calls of uvloop cannot be replaced, so what it is asked to call is.


class MeasuredLoop(uvloop.Loop):
    """Measures what tasks, timers and threads ask it to call, and what its servers receive."""

    def __init__(self, steps: LoopSteps) -> None:
        super().__init__()
        self._measured = steps.measured

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, **options: Any
    ) -> asyncio.Handle:
        """Call `callback` in the next round."""
        return super().call_soon(self._measured, callback, *args, **options)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, **options: Any
    ) -> asyncio.Handle:
        """Call `callback` in the next round; any thread may ask."""
        return super().call_soon_threadsafe(self._measured, callback, *args, **options)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, **options: Any
    ) -> asyncio.TimerHandle:
        """Call `callback` after `delay` seconds."""
        return super().call_later(delay, self._measured, callback, *args, **options)

    async def create_server(
        self, protocol_factory: Callable[[], Any], *args: Any, **options: Any
    ) -> Any:
        """Start a server."""

        def measured_protocol() -> Any:
            protocol = protocol_factory()
            receive = protocol.data_received
            protocol.data_received = lambda data: self._measured(receive, data)
            return protocol

        return await super().create_server(measured_protocol, *args, **options)
