"""HTTP requests as an ASGI server passes them on, without a server."""

from collections.abc import Mapping

from fastapi import Request
from starlette.types import Message


def request(
    headers: Mapping[str, str] | None = None, query: str = "", chunks: tuple[bytes, ...] = (b"",)
) -> Request:
    """Return a POST to /v1/compilations whose body comes in `chunks`."""
    waiting = list(chunks)

    async def receive() -> Message:
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/compilations",
        "query_string": query.encode(),
        "client": ("192.0.2.7", 5000),
        "headers": [
            (name.lower().encode(), value.encode("latin-1"))
            for name, value in (headers or {}).items()
        ],
    }
    return Request(scope, receive)
