"""An OTLP/HTTP receiver on loopback, and a deployment that exports to it.

Collected by `make test-otel` only, which installs OpenTelemetry into a separate environment.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integration.service.running import Deployment

NAMED = os.environ.get("TRITOND_TEST_OTEL", "")
collect_ignore_glob = [] if NAMED else ["test_*.py"]
PACKAGES = next(Path(NAMED).glob("lib/python*/site-packages")) if NAMED else Path()
SECRET = "secret-of-the-collector-7f3a"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "otel: traces of a deployment")


@dataclass(frozen=True)
class Span:
    """A span as it was received."""

    trace: str
    id: str
    parent: str
    name: str
    of: str
    """The process: tritond-service or tritond-worker."""
    began_ns: int
    ended_ns: int


@dataclass
class Receiver:
    """Keeps all spans that were posted to it."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)

    @property
    def spans(self) -> list[Span]:
        sys.path.append(str(PACKAGES))
        try:
            from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
                ExportTraceServiceRequest,
            )
        finally:
            sys.path.remove(str(PACKAGES))
        found = []
        for body in list(self.bodies):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                names: dict[str, Any] = {
                    each.key: each.value.string_value for each in resource.resource.attributes
                }
                found += [
                    Span(
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.name,
                        names["service.name"],
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                    )
                    for scope in resource.scope_spans
                    for span in scope.spans
                ]
        return found


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.bodies.append(self.rfile.read(int(self.headers["content-length"])))
            kept.headers.append(self.headers.get("x-collector-key", ""))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    kept.url = f"http://127.0.0.1:{server.server_port}"
    yield kept
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def traced(receiver: Receiver, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployment = Deployment(
        tmp_path_factory.mktemp("traced"),
        PYTHONPATH=str(PACKAGES),
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url,
        OTEL_EXPORTER_OTLP_HEADERS=f"x-collector-key={SECRET}",
        OTEL_EXPORTER_OTLP_COMPRESSION="none",
        OTEL_BSP_SCHEDULE_DELAY="200",
    )
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    said = deployment.said()
    deployment.stop()
    assert "Traceback" not in said, said
