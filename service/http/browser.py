"""Protects a service without API keys from requests of foreign web pages.

Such a service serves everyone on this machine, so also the user's browser, on any page. A page can
reach a loopback address by its name, or by the page's own name (DNS rebinding). But it cannot
choose what the browser sends in `Host`, `Origin` and `Sec-Fetch-Site`. If API keys exist, nothing
is refused here: no page has a key.
"""

from collections.abc import Sequence
from functools import lru_cache

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from service.http.problems import ProblemRaised, as_raised, problem_response

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
PAGES = frozenset({"/", "/learn", "/docs", "/redoc"})
"""Pages that links on other sites may open: they hold no data, and cannot be framed."""
EMBEDDED = "/e/"
"""Below it is what was shared, to read: a link may lead there, and a frame where that is set."""
_REFUSED_FRAME = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<title>A kernel in tritond</title>
<p>This site may not show kernels of this tritond.
<p><a href="" target="_blank" rel="noopener">Open the kernel in tritond</a>
<p><small>Its operator can allow this site with TRITOND_EMBED_ORIGINS.</small>
"""
_OWN_SITES = frozenset({b"same-origin", b"none"})
_LINK = {b"sec-fetch-mode": [b"navigate"], b"sec-fetch-dest": [b"document"]}
_FRAME = {b"sec-fetch-mode": [b"navigate"], b"sec-fetch-dest": [b"iframe"]}
_LOOKED_AT = frozenset({b"host", b"origin", b"sec-fetch-site", *_LINK})
_READ = frozenset({"GET", "HEAD"})


class BrowserMiddleware:
    """ASGI middleware; plain, because it runs for every hit.

    `Host` may be: a name of loopback, the address that the service is `bound` to, and the
    `names` that its operator gave it; of these, pages of every port and scheme are its own. What
    was shared `may_be_framed` by pages of others: its policy lists them.
    """

    def __init__(
        self, app: ASGIApp, bound: str, names: Sequence[str] = (), *, may_be_framed: bool = False
    ) -> None:
        self._app = app
        self._may_be_framed = may_be_framed
        self._added = frozenset(names)
        self._names = LOOPBACK_NAMES | self._added | {f"[{bound}]" if ":" in bound else bound}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 421 or 403 if no key is needed."""
        if scope["type"] == "http" and (problem := self._origin_problem(scope)):
            request = Request(scope, receive)
            refused = await _refused(request, problem)
            if refused is not None:
                is_frame = is_foreign_frame(request) and scope["path"].startswith(EMBEDDED)
                answer = refused_frame() if is_frame else problem_response(request, refused)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _origin_problem(self, scope: Scope) -> ProblemRaised | None:
        """Return why the request may come from a foreign page, None if it cannot."""
        sent: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            if name in _LOOKED_AT:
                sent.setdefault(name, []).append(value)
        hosts = sent.get(b"host", [])
        if len(hosts) != 1 or name_of(hosts[0]) not in self._names:
            return _unknown_host(hosts)
        for origin in sent.get(b"origin", ()):
            if not self._is_own(origin, hosts[0]):
                return _other_origin(f"Origin is {origin.decode('latin-1')!r}")
        sites = sent.get(b"sec-fetch-site", [])
        if _OWN_SITES.issuperset(sites) or self._leads_to_a_page(scope, sent):
            return None
        return _other_origin(f"Sec-Fetch-Site is {b', '.join(sites).decode('latin-1')!r}")

    def _leads_to_a_page(self, scope: Scope, sent: dict[bytes, list[bytes]]) -> bool:
        if scope["method"] not in _READ:
            return False
        is_shared = scope["path"].startswith(EMBEDDED)
        if _says(sent, _LINK):
            return is_shared or scope["path"] in PAGES
        return is_shared and self._may_be_framed and _says(sent, _FRAME)

    def _is_own(self, origin: bytes, host: bytes) -> bool:
        scheme, _, authority = origin.lower().partition(b"://")
        if scheme not in {b"http", b"https"}:
            return False
        return authority == host.lower() or name_of(authority) in self._added


def is_foreign_frame(request: Request) -> bool:
    """Return true if the browser loads this into a frame of a page of another site."""
    sent = request.headers
    is_own = sent.get("sec-fetch-site", "none").encode() in _OWN_SITES
    return sent.get("sec-fetch-dest") == "iframe" and not is_own


def refused_frame() -> Response:
    """Answer a page for a frame that the operator does not allow: its readers see no JSON."""
    headers = {
        "Content-Security-Policy": "default-src 'none'; frame-ancestors *",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(_REFUSED_FRAME, 403, headers, media_type="text/html")


@lru_cache(maxsize=256)
def name_of(authority: bytes) -> str:
    """Return the name in `name:port`, in lower case; "" if it has another form."""
    text = authority.decode("latin-1").lower()
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text
    return name if port.isdecimal() and port.isascii() else ""


def _says(sent: dict[bytes, list[bytes]], expected: dict[bytes, list[bytes]]) -> bool:
    return all(sent.get(name) == values for name, values in expected.items())


async def _refused(request: Request, problem: ProblemRaised) -> ProblemRaised | None:
    """Return `problem` where everybody is served, None where a key is needed anyway."""
    try:
        is_open = await request.app.state.service.callers.is_open()
    except Exception as error:
        raised = as_raised(error)
        if raised is None:
            raise
        return raised
    return problem if is_open else None


def _unknown_host(hosts: Sequence[bytes]) -> ProblemRaised:
    sent = b", ".join(hosts).decode("latin-1")[:255]
    detail = (
        f"Host is {sent!r}, and without API keys this service answers only to "
        f"{', '.join(sorted(LOOPBACK_NAMES))} and the names in TRITOND_ALLOWED_HOSTS"
    )
    return ProblemRaised("misdirected", detail)


def _other_origin(what: str) -> ProblemRaised:
    detail = (
        f"{what[:300]}: without API keys this service refuses requests from pages of other origins"
    )
    return ProblemRaised("forbidden", detail)
