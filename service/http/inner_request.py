"""Requests that the application makes of itself, for the APIs of others that build on its own.

They come in by the front door, with the headers of the request they are made for: the same key,
the same limits, the same problems. So nothing that the front door refuses is open here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import orjson
from fastapi import Request
from starlette.types import Message

from compiler.wanted import check_wanted
from service.http.problems import ProblemRaised

_MEMBERS = ("errors", "limit", "parameter")
_HEADERS = ("Retry-After", "WWW-Authenticate")
_PASSED_ON = frozenset({b"host", b"authorization", b"origin", b"sec-fetch-site"})


@dataclass(frozen=True, slots=True)
class InnerAnswer:
    """The application's answer to an inner request."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_problem(self) -> bool:
        """True if it is an error, as `application/problem+json`."""
        return self.status >= HTTPStatus.BAD_REQUEST

    @property
    def json(self) -> Any:
        """The body, which must be JSON."""
        return orjson.loads(self.body)

    @property
    def raised(self) -> ProblemRaised:
        """The problem that this answer is, to end the outer request with it."""
        problem = self.json
        members = {name: problem[name] for name in _MEMBERS if name in problem}
        headers = {
            name: self.headers[name.lower()] for name in _HEADERS if name.lower() in self.headers
        }
        return ProblemRaised(problem["slug"], problem["detail"], headers=headers, **members)


async def ask_itself(
    request: Request,
    method: str,
    path: str,
    body: Any = None,
    query: Mapping[str, str | int | float] | None = None,
    *,
    idempotency_key: str | None = None,
) -> InnerAnswer:
    """Return what the application of `request` answers to another request of the same caller.

    `path` begins with `/v1/`; `body` is sent as JSON where there is one. `idempotency_key` is
    sent as the header of that name. Raises Unwanted if the client has gone before it was done.
    """
    sent = b"" if body is None else _as_json(body)
    answer = _Answering(request, sent)
    scope = _scope(request, method, path, urlencode(query or {}), sent)
    if idempotency_key is not None:
        scope["headers"].append((b"idempotency-key", idempotency_key.encode()))
    try:
        await request.app(scope, answer.receive, answer.send)
    except Exception:
        if not answer.status:  # else it is our bug, which was logged and answered
            raise
    body = b"".join(answer.chunks)
    if answer.status == HTTPStatus.BAD_REQUEST and not body:
        check_wanted()  # it ended since the client has gone, and so ends what it was asked for
    return InnerAnswer(answer.status, body, answer.headers)


def _as_json(body: Any) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # larger integers, halves of characters: for the front door to refuse
        return json.dumps(body).encode()


def _scope(request: Request, method: str, path: str, query: str, body: bytes) -> dict[str, Any]:
    headers = [pair for pair in request.scope["headers"] if pair[0] in _PASSED_ON]
    if request_id := getattr(request.state, "request_id", None):
        headers.append((b"x-request-id", request_id.encode()))
    if body:
        headers.append((b"content-type", b"application/json"))
        headers.append((b"content-length", str(len(body)).encode()))
    kept = ("type", "asgi", "http_version", "scheme", "client", "server", "root_path")
    scope = {name: request.scope[name] for name in kept if name in request.scope}
    return scope | {
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
    }


class _Answering:
    """The other end of an inner request: gives its body once, and keeps what is answered."""

    def __init__(self, outer: Request, body: bytes) -> None:
        self._outer = outer
        self._body: bytes | None = body
        self.status = 0
        self.headers: dict[str, str] = {}
        self.chunks: list[bytes] = []

    async def receive(self) -> Message:
        """Return the body, and later that the client of the outer request has hung up."""
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        return await self._outer.receive()

    async def send(self, message: Message) -> None:
        """Keep a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in message["headers"]
            }
        else:
            self.chunks.append(message.get("body", b""))
