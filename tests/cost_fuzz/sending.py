"""Sends one request and counts its answer's bytes, without holding them all."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_KEPT_BYTES = 1 << 20
_MAX_BYTES = 1 << 30
MAX_S = 90.0


@dataclass(frozen=True)
class Sent:
    """One request."""

    method: str
    path: str
    """With its query string."""
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    items: int = 0
    """Jobs of a batch, variants of a sweep, or ids that it asks for."""


@dataclass(frozen=True)
class Answer:
    """The status and size of an answer; status 0: there was none."""

    status: int
    size_bytes: int
    media_type: str
    start: bytes
    """The first bytes, as they were sent."""

    @property
    def json(self) -> Any:
        """Return a short answer's JSON, None if it has none."""
        try:
            return json.loads(self.start)
        except ValueError:
            return None


def send(url: str, sent: Sent, timeout_s: float = MAX_S) -> Answer:
    """Send a request and read its answer to its end."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=timeout_s)
    headers = {"Content-Type": "application/json"} if sent.body is not None else {}
    try:
        # a body that is too large is answered while it is still being sent
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.request(sent.method, sent.path, sent.body, {**headers, **sent.headers})
        response = connection.getresponse()
        start, size_bytes = b"", 0
        while (part := response.read(1 << 16)) and size_bytes < _MAX_BYTES:
            size_bytes += len(part)
            if len(start) < _KEPT_BYTES:
                start += part
        media_type = response.headers.get("content-type", "").partition(";")[0]
        return Answer(response.status, size_bytes, media_type, start)
    except (OSError, http.client.HTTPException) as error:
        return Answer(0, 0, type(error).__name__, b"")
    finally:
        connection.close()
