"""The headers of answers, by the rules that routes and middleware follow."""

import re
from collections.abc import Iterator
from typing import Any, Final

_TEXT: Final = {"type": "string"}
_SECONDS: Final = {"type": "integer", "minimum": 0}
HEADERS: Final[dict[str, Any]] = {
    name: {"description": description, "schema": schema}
    for name, description, schema in (
        ("X-Request-ID", "of the request, taken from it or made", _TEXT),
        ("Location", "the path of what was made", _TEXT),
        ("Retry-After", "when to ask again, in seconds", _SECONDS),
        ("Preference-Applied", "`wait=S` where `Prefer` asked for it", _TEXT),
        ("Server-Timing", "`total;dur=` milliseconds in the service", _TEXT),
        ("Cache-Status", "hit, miss (`fwd=miss`) or join (`collapsed`): RFC 9211", _TEXT),
        ("ETag", "send it as `If-None-Match`, to get 304 while nothing has changed", _TEXT),
        ("Cache-Control", "`immutable` once the answer never changes again", _TEXT),
        ("RateLimit", "requests left, and seconds until there are more", _TEXT),
        ("RateLimit-Policy", "the limit of the API key, where it has one", _TEXT),
    )
}
"""By name, as components of the document."""
NOT_MODIFIED: Final = "The client has it: `If-None-Match` names its ETag"
_RESULT = re.compile(r"/v1/[a-z]+/\{(key|\w+_id)\}")
_BYTES = re.compile(
    r"/v1/(blobs/\{digest\}|tensors/\{digest\}|states/\{digest\}"
    r"|compilations/\{key\}/artifacts/\{stage\}"
    r"|launches/\{launch_id\}/(outputs/\{argument\}|trace)|programs/\{program_id\}/tape)"
)


def is_validated(path: str, method: str) -> bool:
    """Return True for answers that have an ETag."""
    return method == "get" and bool(_RESULT.fullmatch(path) or _BYTES.fullmatch(path))


def headers_of(path: str, method: str, status: int, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the headers of one answer that have a meaning for clients."""
    parameters = {parameter["name"] for parameter in operation.get("parameters", ())}
    makes = "Idempotency-Key" in parameters
    yield "X-Request-ID"
    if status in {409, 429, 503} or (status == 202 and method != "delete"):
        yield "Retry-After"
    if path.startswith("/v1/"):
        yield from ("RateLimit", "RateLimit-Policy")
    if status in {200, 304} and is_validated(path, method):
        yield from ("ETag", "Cache-Control")
    if status in {200, 202} and "wait" in parameters:
        yield "Preference-Applied"
    if status in {200, 202} and makes:
        yield from ("Location", "Server-Timing")
        if path == "/v1/compilations":
            yield "Cache-Status"
