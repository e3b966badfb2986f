"""A compilation as bytes of an answer: the stored record with what belongs to this request.

Records are stored as the JSON they are answered with, so a hit is put together, not encoded.
"""

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import orjson
from fastapi import Response

from compiler.compilation import compilation_url
from compiler.target import BINARY_STAGES

Cache = Literal["hit", "miss", "join"]
FINISHED_STATES = frozenset({"succeeded", "failed", "cancelled"})
RETRY_AFTER_S = 1
_CACHE_STATUS = {"hit": "tritond; hit", "miss": "tritond; fwd=miss", "join": "tritond; collapsed"}


@dataclass(frozen=True)
class Answer:
    """What one request gets: the record in JSON bytes, its state, and this request's own part."""

    key: str
    state: str
    record: bytes
    cache: Cache | None = None
    queue_position: int | None = None
    included: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen without another request."""
        return self.state in FINISHED_STATES

    def body(self) -> bytes:
        """Return the JSON body, put together once however many get it."""
        return self._body

    @cached_property
    def _body(self) -> bytes:
        own = {
            "cache": self.cache,
            "queue_position": self.queue_position,
            "included": {stage: _text(stage, data) for stage, data in self.included.items()},
        }
        return orjson.dumps(own)[:-1] + b"," + self.record[1:]


def answer_response(answer: Answer, started: float, headers: Mapping[str, str]) -> Response:
    """Render the answer to a POST; `started` is `time.perf_counter()` at its arrival."""
    finished = answer.is_finished
    own = {"Location": compilation_url(answer.key), "Server-Timing": server_timing(started)}
    if answer.cache is not None:
        own["Cache-Status"] = _CACHE_STATUS[answer.cache]
    if not finished:
        own["Retry-After"] = str(RETRY_AFTER_S)
    return Response(
        answer.body(),
        status_code=200 if finished else 202,
        headers=own | dict(headers),
        media_type="application/json",
    )


def server_timing(started: float) -> str:
    """Return the Server-Timing of a request that arrived at `started`."""
    return f"total;dur={(time.perf_counter() - started) * 1000:.2f}"


def _text(stage: str, data: bytes) -> str:
    if stage in BINARY_STAGES:
        return base64.b64encode(data).decode()
    return data.decode(errors="replace")
