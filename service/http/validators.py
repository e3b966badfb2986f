"""ETags, `If-None-Match` and content codings (RFC 9110), and caching of answers (RFC 9111)."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

from fastapi import Request, Response

from service.http.answer_parts import parts_response
from store.frames import digested

_REFUSED = re.compile(r"\s*q\s*=\s*0(\.0*)?\s*", re.IGNORECASE)


class Caching(StrEnum):
    """`Cache-Control` of an answer for one caller."""

    FINAL = "private, max-age=86400, immutable"
    """It is over and never changes again."""
    REVALIDATED = "private, no-cache"
    """It may change; the client asks with `If-None-Match` whether it has."""


async def validated(
    request: Request,
    body: bytes | Sequence[bytes],
    caching: Caching,
    headers: Mapping[str, str],
    media_type: str = "application/json",
) -> Response:
    """Return `body`, whole or in parts, with its ETag, or 304 to a client that has it."""
    parts = [body] if isinstance(body, bytes) else body
    etag = f'"{(await digested(*parts)).removeprefix("sha256:")}"'
    sent = {**headers, "ETag": etag, "Cache-Control": caching.value, "Vary": "Authorization"}
    known = request.headers.get("if-none-match", "")
    if is_current(known, etag) or wants_nothing_that_exists(known):
        return Response(status_code=304, headers=sent)
    return parts_response(parts, sent, media_type=media_type)


def is_current(if_none_match: str, etag: str) -> bool:
    """Return True if `If-None-Match` lists `etag`; weak tags compare by value.

    `*` is handled by `wants_nothing_that_exists`.
    """
    sent = (part.strip().removeprefix("W/") for part in if_none_match.split(","))
    return etag in sent


def wants_nothing_that_exists(if_none_match: str) -> bool:
    """Return True for `*`: the client wants no bytes if any exist."""
    return if_none_match.strip() == "*"


def accepts(accept_encoding: str, coding: str) -> bool:
    """Return True if the client asks for `coding` by name; `zstd;q=0` refuses it."""
    for part in accept_encoding.split(","):
        name, _, weight = part.partition(";")
        if name.strip().lower() == coding:
            return not _REFUSED.fullmatch(weight)
    return False
