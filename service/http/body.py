"""Reading a request's body: bounded while it streams, and JSON or a problem.

An empty object takes three bytes on the wire and seventy in memory, so the cost of parsing a body
does not follow from its length. So the values, names and containers of JSON are counted in its
bytes, within limits, before any of it is parsed.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect

from compiler.rejection import RequestRejected
from compiler.request.field_bounds import check_bounds
from compiler.request.field_errors import field_errors
from service.http.problems import ProblemRaised

_Model = TypeVar("_Model", bound=BaseModel)
_JSON_TYPE = re.compile(r"application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\";\s]*)", re.IGNORECASE)


async def read_body(request: Request, limit_bytes: int) -> bytes:
    """Return the body of a JSON request.

    Raises ProblemRaised: 413 as soon as it is larger than `limit_bytes`, 415 if its type is
    something else than JSON or nothing at all: such a body any web page could send from here.
    """
    content_type = request.headers.get("content-type")
    if content_type is None:
        detail = "There is no Content-Type; send the body as application/json, in UTF-8"
        raise ProblemRaised("unsupported_media_type", detail)
    _check_content_type(content_type)
    coding = request.headers.get("content-encoding", "identity")
    if coding.strip().lower() not in {"", "identity"}:
        detail = f"Content-Encoding {coding!r} is not supported; send the body uncompressed"
        headers = {"Accept-Encoding": "identity"}
        raise ProblemRaised("unsupported_media_type", detail, headers=headers)
    return bytes(await read_bytes(request, limit_bytes))


@lru_cache(maxsize=64)
def _check_content_type(content_type: str) -> None:
    """Raise ProblemRaised (415) unless it is JSON in UTF-8. Cached, because clients repeat it."""
    charset = _CHARSET.search(content_type)
    is_utf_8 = charset is None or charset[1].lower() in {"utf-8", "utf8", "us-ascii"}
    if not _JSON_TYPE.fullmatch(content_type) or not is_utf_8:
        detail = f"Content-Type is {content_type!r}; send the body as application/json, in UTF-8"
        raise ProblemRaised("unsupported_media_type", detail)


async def read_bytes(request: Request, limit_bytes: int) -> bytearray:
    """Return the body whatever it is.

    Raises ProblemRaised (413) beyond `limit_bytes`. How long it may take is the connection's.
    """
    body = bytearray()
    await read_parts(request, limit_bytes, body.extend)
    return body


async def read_parts(
    request: Request, limit_bytes: int, take: Callable[[bytes], Awaitable[None] | None]
) -> None:
    """Have each part of the body taken, as it comes; raises what `read_bytes` does."""
    declared_bytes = declared_length(request)
    if declared_bytes is not None and declared_bytes > limit_bytes:
        raise _too_large(limit_bytes)
    size_bytes = 0
    # not request.stream(), which costs every hit more
    while (message := await request.receive())["type"] != "http.disconnect":
        part = message.get("body", b"")
        size_bytes += len(part)
        if size_bytes > limit_bytes:
            raise _too_large(limit_bytes)
        if (taking := take(part)) is not None:
            await taking
        if not message.get("more_body", False):
            return
    raise ClientDisconnect


def declared_length(request: Request) -> int | None:
    """Return the number of bytes in Content-Length, None if it has none."""
    declared = request.headers.get("content-length", "")
    return int(declared[:19]) if declared.isdecimal() else None


def parse_body(body: bytes, model: type[_Model]) -> _Model:
    """Return `body` as `model`.

    Raises what `parse_json` does, and RequestRejected for what does not fit.
    """
    return parse_value(parse_json(body), model)


def parse_json(body: bytes) -> Any:
    """Return the value of `body`. Raises ProblemRaised: 400 if not JSON, 413 if too many."""
    check_json_size(body)
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ProblemRaised("invalid_json", f"The body is not JSON: {error}") from None


def canonical_json(body: bytes) -> bytes:
    """Return JSON with its fields in order and nothing between them. Raises as `parse_json`."""
    return json.dumps(parse_json(body), sort_keys=True, separators=(",", ":")).encode()


def parse_value(data: Any, model: type[_Model]) -> _Model:
    """Return what was JSON as `model`. Raises RequestRejected for what does not fit."""
    check_bounds(data, model)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise RequestRejected(*field_errors(error, model)) from None


def _too_large(limit_bytes: int) -> ProblemRaised:
    detail = f"The body is larger than the limit of {limit_bytes} bytes"
    # the connection stays: most clients read no answer before they have sent everything
    return ProblemRaised("too_large", detail, limit=limit_bytes)


@dataclass(frozen=True)
class JsonSize:
    """Limits on the values and names of a body, and on the containers among the values."""

    values: int
    containers: int


OF_BODY: Final = JsonSize(values=300_000, containers=100_000)
"""The values that the cases of a launch may list are within it, and so are 1,000 requests."""
OF_TOOL: Final = JsonSize(values=50_000, containers=10_000)
"""The limit for a message to `POST /mcp`: its library and the API behind it both parse it."""
MAX_DIGITS: Final = 200
"""The limit for a number in a large body: Python parses integers in quadratic time."""
_SMALL_BYTES: Final = 256 << 10
_EIGHT_DIGITS = re.compile(rb"[0-9]{8}")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))


def check_json_size(body: bytes, most: JsonSize = OF_BODY) -> None:
    """Refuse a body with more in it than `most`, at any depth, and numbers of too many digits.

    Counted are the bytes before values and names: `,`, `:`, `[` and `{`, outside of strings. What
    is not JSON may pass: its parser stops where the count stops. Takes linear time. Raises
    ProblemRaised: 413 for too many, 400 for a number.
    """
    if len(body) <= most.containers:
        return
    # steps of an eighth of its length hit a run of that many digits eight times
    has_digits = len(body) > _SMALL_BYTES and _EIGHT_DIGITS.search(body[:: MAX_DIGITS // 8])
    # nearly always there are too few of these bytes in all of the body, strings included
    if _is_within(body, most) and not has_digits:
        return
    outside = _without_strings(body, most)
    if outside is None or _count(outside, b",:[{") > most.values:
        raise _too_many(most.values, "JSON values and names")
    if _count(outside, b"[{") > most.containers:
        raise _too_many(most.containers, "JSON lists and objects")
    if has_digits and _LONG_NUMBER.search(outside):
        detail = f"A number in the body has more than {MAX_DIGITS} digits; no field takes that many"
        raise ProblemRaised("invalid_json", detail)


def _is_within(text: bytes, most: JsonSize) -> bool:
    values = _count(text, b",:[{")
    is_small = values <= min(most.values, most.containers)
    return is_small or (values <= most.values and _count(text, b"[{") <= most.containers)


def _count(text: bytes, counted: bytes) -> int:
    """Return how many of the bytes `counted` there are, in one pass: they may be all there is."""
    return len(text) - len(text.translate(None, counted))


def _without_strings(body: bytes, most: JsonSize) -> bytes | None:
    """Return a body with a quote for each string; None if it has too many strings to cut it."""
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # each string is a value or a name
    if plain.count(b'"') > 2 * (most.values + 1):
        return None
    return b'"'.join(plain.split(b'"')[::2])


def _too_many(limit: int, what: str) -> ProblemRaised:
    detail = f"The body holds more than {limit} {what}; split it into several requests"
    return ProblemRaised("too_large", detail, limit=limit)
