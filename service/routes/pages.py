"""The web page and the interactive documentation: static files, loaded from here and nowhere else.

Swagger UI and ReDoc are the files that `fastapi-offline` ships; its code is not used. No page may
load or run anything that its policy does not name. All addresses in them are relative, so that
they work under whatever path a proxy serves them.
"""

import asyncio
import secrets

from fastapi import APIRouter, Request, Response

from service.http.content_coding import accepts
from service.http.problems import ProblemRaised
from service.page_files import INDEX, PageFile, docs_files, gzipped, page_files

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
KEPT = HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
_NOTHING = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_FILE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " + _NOTHING
)
# CodeMirror writes its styles into the page, each with the nonce of the answer, and draws the
# underlines of diagnostics with pictures that stand in those styles
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src data:; "
    "connect-src 'self'; " + _NOTHING
)
# Swagger UI and ReDoc write styles and small pictures into the page while they draw it
_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
    "data:; connect-src 'self'; " + _NOTHING
)
_NONCE = b"{{nonce}}"
_PAGE = page_files()
_DOCS = docs_files()

router = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/learn")
async def get_page() -> Response:
    """Answer the page, where a kernel is compiled and looked at; under `/learn` with lessons."""
    nonce = secrets.token_urlsafe(16)
    policy = _PAGE_POLICY.format(nonce=nonce)
    html = _PAGE[INDEX].data.replace(_NONCE, nonce.encode())
    return Response(
        html, headers=HEADERS | {"Content-Security-Policy": policy}, media_type="text/html"
    )


@router.get("/page/{name}")
async def get_page_file(request: Request, name: str) -> Response:
    """Answer a style or script of the page."""
    file = _PAGE.get(name)
    if file is None or name == INDEX:
        raise ProblemRaised("not_found", f"There is no file {name!r} of the page")
    return await _answer(request, file, _FILE_POLICY)


@router.get("/docs")
async def get_docs(request: Request) -> Response:
    """Answer Swagger UI, in which requests can be tried."""
    return await _answer(request, _DOCS["docs.html"], _DOCS_POLICY)


@router.get("/redoc")
async def get_redoc(request: Request) -> Response:
    """Answer ReDoc, to read."""
    return await _answer(request, _DOCS["redoc.html"], _DOCS_POLICY)


@router.get("/docs/{name}")
async def get_docs_file(request: Request, name: str) -> Response:
    """Answer a script or style of the documentation."""
    file = _DOCS.get(name)
    if file is None or name.endswith(".html"):
        raise ProblemRaised("not_found", f"There is no file {name!r} of the documentation")
    return await _answer(request, file, _DOCS_POLICY)


async def _answer(request: Request, file: PageFile, policy: str) -> Response:
    """Answer a file, compressed where that is smaller and the client takes it."""
    headers = (KEPT if file.is_immutable else HEADERS) | {"Content-Security-Policy": policy}
    # a tenth of a second for the largest, in which others are served
    small = await asyncio.to_thread(gzipped, file)
    if small is None:
        return Response(file.data, headers=headers, media_type=file.media_type)
    headers |= {"Vary": "Accept-Encoding"}
    if not accepts(request.headers.get("accept-encoding", ""), "gzip"):
        return Response(file.data, headers=headers, media_type=file.media_type)
    headers |= {"Content-Encoding": "gzip"}
    return Response(small, headers=headers, media_type=file.media_type)
