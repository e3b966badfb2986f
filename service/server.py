"""The uvicorn server of this process: its bounds, and an end that leaves nobody without an answer.

When it is told to stop, whoever waits for a job is answered at once that it goes on, and streams of
events end; requests that are still being sent or made have the settings' `drain_s`.
"""

import contextlib
import logging
import resource
import socket

import uvicorn
from fastapi import FastAPI

from service.http.bodies_in_flight import BodiesInFlight
from service.http.connection_bounds import ConnectionBounds, bounded_protocol
from service.settings import ServiceSettings

OTHER_FILES = 256  # descriptors that are no clients' connections
logger = logging.getLogger("service")


class HttpServer(uvicorn.Server):
    """Serves `app`, which ends its waits before its connections are closed."""

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
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=round(settings.drain_s),
        )
        super().__init__(config)
        self._app = app
        app.state.stop = self.stop

    def stop(self) -> None:
        """End as if told to: for the application, when it cannot serve any more."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all waits, then end as uvicorn does."""
        self._app.state.service.release_waiters()
        await super().shutdown(sockets)


def _most_files() -> int:
    """Return how many files this process may open, having raised that as far as it may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 1 << 20
    with contextlib.suppress(ValueError, OSError):  # then it stays as it was
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft
