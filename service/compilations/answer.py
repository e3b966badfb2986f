"""The answer to a compile request: the stored record, plus what belongs to this request alone.

Records are stored as JSON in their final form, so a hit is joined from bytes and never decoded.
Nothing is looked up here.
"""

import base64
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import orjson
from fastapi import Response

from compiler.compilation import compilation_url
from compiler.stages import BINARY
from service.http.problems import ProblemRaised
from store.byte_limits import MAX_ANSWER_BYTES

Cache = Literal["hit", "miss", "join"]
FINISHED_STATES = frozenset({"succeeded", "failed", "cancelled"})
RETRY_AFTER_S = 1
CACHE_STATUS: Mapping[Cache, str] = {
    "hit": "tritond; hit",
    "miss": "tritond; fwd=miss",
    "join": "tritond; collapsed",
}
"""The header Cache-Status (RFC 9211) for each cache result."""


@dataclass(frozen=True, slots=True)
class RenderedAnswer:
    """A complete answer to a POST, except for the headers with this request's time."""

    key: str
    status: int
    body: bytes
    raw_headers: Sequence[tuple[bytes, bytes]]
    """Encoded once, because encoding is a good part of the cost of a hit from memory."""


class AnswerTooLarge(ProblemRaised):
    """The stages that are to be included do not fit into an answer."""

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        detail = (
            f"The stages of `include` take {size_bytes} bytes, more than the {limit_bytes} left in "
            "the answer; include fewer, and GET the others at their artifacts' `url`"
        )
        super().__init__("too_large", detail, limit=limit_bytes)


def check_included(record: bytes, include: Iterable[str], limit_bytes: int) -> dict[str, Any]:
    """Return the artifacts in a record. Raises AnswerTooLarge where `include` exceeds the limit.

    Nothing is read: the record has the sizes.
    """
    artifacts: dict[str, Any] = orjson.loads(record)["artifacts"]
    size_bytes = sum(artifacts[stage]["size_bytes"] for stage in include if stage in artifacts)
    if size_bytes > limit_bytes:
        raise AnswerTooLarge(size_bytes, limit_bytes)
    return artifacts


@dataclass(frozen=True)
class Answer:
    """The answer to one request: the record as JSON, its state, and this request's own part."""

    key: str
    state: str
    record: bytes
    cache: Cache | None = None
    queue_position: int | None = None
    included: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """True if nothing more will happen without another request."""
        return self.state in FINISHED_STATES

    @cached_property
    def body(self) -> bytes:
        """The JSON body, joined once for all requests that get it. Raises AnswerTooLarge."""
        size_bytes = sum(map(len, self.included.values()))
        if size_bytes > MAX_ANSWER_BYTES:
            raise AnswerTooLarge(size_bytes, MAX_ANSWER_BYTES)
        own = {
            "cache": self.cache,
            "queue_position": self.queue_position,
            "included": {stage: _text(stage, data) for stage, data in self.included.items()},
        }
        head = orjson.dumps(own)[:-1]
        if len(head) + len(self.record) > MAX_ANSWER_BYTES:
            raise AnswerTooLarge(len(head), MAX_ANSWER_BYTES - len(self.record))
        return head + b"," + self.record[1:]

    @cached_property
    def rendered(self) -> RenderedAnswer:
        """The answer to a POST, rendered once for all requests that get it."""
        headers = {"location": compilation_url(self.key)}
        if self.cache is not None:
            headers["cache-status"] = CACHE_STATUS[self.cache]
        if not self.is_finished:
            headers["retry-after"] = str(RETRY_AFTER_S)
        headers |= {"content-length": str(len(self.body)), "content-type": "application/json"}
        raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        status = 200 if self.is_finished else 202
        return RenderedAnswer(self.key, status, self.body, raw_headers)


class _RenderedResponse(Response):
    """A response with encoded headers. `Response.__init__` would make headers only to lose them."""

    def __init__(self, status: int, raw_headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status_code = status
        self.raw_headers = raw_headers
        self.body = body
        self.background = None


def answer_response(
    rendered: RenderedAnswer, started: float, headers: Mapping[str, str]
) -> Response:
    """Return the response to a POST that arrived at `started` (`time.perf_counter()`)."""
    raw_headers = [
        *rendered.raw_headers,
        (b"server-timing", server_timing(started).encode()),
        *((name.lower().encode(), value.encode()) for name, value in headers.items()),
    ]
    return _RenderedResponse(rendered.status, raw_headers, rendered.body)


def server_timing(started: float) -> str:
    """Return the Server-Timing of a request that arrived at `started`."""
    return f"total;dur={(time.perf_counter() - started) * 1000:.2f}"


def _text(stage: str, data: bytes) -> str:
    if stage in BINARY:
        return base64.b64encode(data).decode()
    return data.decode(errors="replace")
