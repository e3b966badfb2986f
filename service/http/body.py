"""Reading a request's body: bounded while it streams, and JSON or a problem."""

import asyncio
import json
import re
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from compiler.rejection import Fault, RequestRejected
from compiler.request.field_faults import field_faults
from service.http.problems import ProblemRaised
from service.state import state_of

_Model = TypeVar("_Model", bound=BaseModel)
_JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\";\s]*)", re.IGNORECASE)
_MAX_FIELDS = 100
PATIENCE_S = 15.0
SLOWEST_BYTES_PER_S = 16 << 10


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """Return the body of a JSON request.

    Raises ProblemRaised: 413 as soon as it is larger than `limit_bytes`, 415 if it says it is
    something else than JSON or nothing at all: such a body any web page could send from here.
    """
    content_type = request.headers.get("content-type")
    if content_type is None:
        detail = "There is no Content-Type; send the body as application/json, in UTF-8"
        raise ProblemRaised("unsupported_media_type", detail)
    charset = _CHARSET.search(content_type)
    is_utf_8 = charset is None or charset[1].lower() in {"utf-8", "utf8", "us-ascii"}
    if not _JSON_TYPE.fullmatch(content_type) or not is_utf_8:
        detail = f"Content-Type is {content_type!r}; send the body as application/json, in UTF-8"
        raise ProblemRaised("unsupported_media_type", detail)
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() not in {"", "identity"}:
        detail = f"Content-Encoding is {coding!r}; send the body as it is"
        headers = {"Accept-Encoding": "identity"}
        raise ProblemRaised("unsupported_media_type", detail, headers=headers)
    return await read_bytes(request, limit_bytes)


async def read_bytes(request: Request, limit_bytes: int) -> bytes:
    """Return the body whatever it is.

    Raises ProblemRaised: 413 beyond `limit_bytes`, 408 when it takes longer than it may.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:19]) > limit_bytes:
        raise _too_large(limit_bytes)
    body = bytearray()
    patience_s = _patience_s(request)
    began = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(patience_s) as deadline:
            # not request.stream(), which would take a timer more of every hit
            while (message := await request.receive())["type"] != "http.disconnect":
                body += message.get("body", b"")
                if len(body) > limit_bytes:
                    raise _too_large(limit_bytes)
                if not message.get("more_body", False):
                    return bytes(body)
                deadline.reschedule(began + patience_s + len(body) / SLOWEST_BYTES_PER_S)
    except TimeoutError:
        raise _too_slow(patience_s) from None
    raise ClientDisconnect


def parse_body(body: bytes, model: type[_Model]) -> _Model:
    """Return `body` as `model`.

    Raises ProblemRaised (400) for what is not JSON and RequestRejected for what does not fit.
    """
    try:
        data = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ProblemRaised("invalid_json", f"The body is not JSON: {error}") from None
    return parse_value(data, model)


def canonical_json(body: bytes) -> bytes:
    """Return JSON that was parsed before with its fields in order and nothing between them."""
    return json.dumps(from_json(body), sort_keys=True, separators=(",", ":")).encode()


def parse_value(data: Any, model: type[_Model]) -> _Model:
    """Return what was JSON as `model`. Raises RequestRejected for what does not fit."""
    if isinstance(data, dict) and len(data) > _MAX_FIELDS:
        raise RequestRejected(Fault("", f"{len(data)} fields, far more than there are"))
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RequestRejected(*field_faults(error, model)) from None


def _patience_s(request: Request) -> float:
    app = request.scope.get("app")
    return PATIENCE_S if app is None else state_of(request).settings.body_timeout_s


def _too_slow(patience_s: float) -> ProblemRaised:
    detail = f"The body took more than {patience_s:g} s, and a second for each 16 KiB of it"
    return ProblemRaised("request_timeout", detail, headers={"Connection": "close"})


def _too_large(limit_bytes: int) -> ProblemRaised:
    detail = f"The body is larger than the limit of {limit_bytes} bytes"
    return ProblemRaised("too_large", detail, limit=limit_bytes, headers={"Connection": "close"})
