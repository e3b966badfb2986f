"""Heads of requests that are refused before the application sees them, and their answers."""

import re

import orjson

from compiler.problem import PROBLEM_BASE
from compiler.problem_kinds import PROBLEM_KINDS
from compiler.slug import Slug

Headers = list[tuple[bytes, bytes]]
RETRY_AFTER_S = 2
_END_OF_AUTHORITY = re.compile(rb"[/?#]")


class Refused(Exception):
    """Ends the parsing of a request."""

    def __init__(self, status: int, slug: str, detail: str) -> None:
        super().__init__(detail)
        self._status = status
        self._slug = slug

    def answer(self) -> bytes:
        """Return the answer, which is the connection's last."""
        kind = PROBLEM_KINDS[Slug(self._slug)]
        problem = {
            "type": PROBLEM_BASE + self._slug,
            "title": kind.title,
            "status": self._status,
            "detail": str(self),
            "slug": self._slug,
            "fault": kind.fault,
            "retryable": kind.is_retryable,
        }
        body = orjson.dumps(problem)
        head = (
            f"HTTP/1.1 {self._status} \r\ncontent-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nretry-after: {RETRY_AFTER_S}\r\n"
            "connection: close\r\n\r\n"
        )
        return head.encode() + body


def check_head(url: bytes, headers: Headers, *, is_upgrade: bool) -> None:
    """Raise Refused for a head that this service does not take."""
    _check_host(headers)
    _check_target(url, headers)
    _check_transfer_coding(headers)
    if is_upgrade and _has_body(headers):
        detail = "A request with an Upgrade header cannot have a body; remove the header"
        raise Refused(400, "malformed_request", detail)


def _check_host(headers: Headers) -> None:
    """Raise Refused for several hosts (RFC 9112, 3.2): a proxy might have checked another one."""
    count = sum(name == b"host" for name, _ in headers)
    if count > 1:
        raise Refused(400, "malformed_request", f"The request has {count} Host fields; send one")


def _check_target(url: bytes, headers: Headers) -> None:
    """Raise Refused for a whole URL with another name than Host has."""
    if url[:1] in {b"/", b"*"}:
        return
    scheme, _, rest = url.lower().partition(b"://")
    authority = _END_OF_AUTHORITY.split(rest, maxsplit=1)[0]
    hosts = [value.lower() for name, value in headers if name == b"host"]
    if scheme not in {b"http", b"https"} or hosts != [authority]:
        named = url[:255].decode("latin-1")
        detail = f"The request line names {named!r}, but Host names another host; send only a path"
        raise Refused(421, "misdirected", detail)


def _check_transfer_coding(headers: Headers) -> None:
    """Raise Refused for a body that is coded in another way, too."""
    for name, value in headers:
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            coding = value[:255].decode("latin-1")
            detail = f"Transfer-Encoding is {coding!r}; only `chunked` is supported"
            raise Refused(400, "malformed_request", detail)


def _has_body(headers: Headers) -> bool:
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0 "))
        for name, value in headers
    )
