"""The web page and the interactive documentation: static files of this service.

Swagger UI and ReDoc are files from `fastapi-offline`; its code is not used. The content policy of
a page names everything that the page may load or run. All links are relative, so pages work behind
a proxy under any path.
"""

import asyncio
import gzip
import re
import secrets
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter, Request, Response

from service.http.browser import EMBEDDED, is_foreign_frame, refused_frame
from service.http.openapi_document import OpenApiDocument
from service.http.problems import ProblemRaised
from service.http.validators import accepts
from service.routes.states import DIGEST

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
KEPT = HEADERS | {"Cache-Control": "public, max-age=31536000, immutable"}
_NOTHING = "base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
_NOBODY = "'none'"
_FILE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " + _NOTHING
).format(ancestors=_NOBODY)
# CodeMirror writes its styles into the page, each with the nonce of the answer, and draws the
# underlines of diagnostics with pictures in those styles
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src data:; "
    "connect-src {origins}; " + _NOTHING
)
_GITHUB = "https://raw.githubusercontent.com https://gist.githubusercontent.com"
"""The page asks these for a file only where the operator allows it."""
# Swagger UI and ReDoc write styles and small pictures into the page while they draw it
_DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
    "data:; connect-src 'self'; " + _NOTHING
).format(ancestors=_NOBODY)
_NONCE = b"{{nonce}}"
_GITHUB_OPENS = b"{{github}}"
_FILES = b'="page/'
_INDEX = "index.html"
FOLDER = files("service").joinpath("page")
_SHIPPED_FOLDER = files("fastapi_offline").joinpath("static")
_SHIPPED_DOCS = ("swagger-ui-bundle.js", "swagger-ui.css", "redoc.standalone.js")
_OWN_DOCS = ("docs.html", "redoc.html", "docs.js")
_HASHED = re.compile(r".+-[A-Z0-9]{8}\.(?:js|css|png)")
"""The bundler's pattern of file names with a digest: such files never change."""
_MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "png": "image/png"}
_FOREIGN_PICTURE = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
"""The logo of ReDoc's maker: loading it would reveal readers to another host."""
_MIN_COMPRESSED_BYTES = 1000


@dataclass(frozen=True, slots=True)
class _PageFile:
    """A file as it is served; where `is_immutable`, its name holds a digest of it."""

    data: bytes
    media_type: str
    is_immutable: bool


def page_files(folder: Traversable = FOLDER) -> dict[str, _PageFile]:
    """Return the files of the page in `folder` by name, among them `index.html`."""
    built = folder.joinpath("built")
    chosen = built if built.joinpath(_INDEX).is_file() else folder.joinpath("plain")
    return {
        entry.name: _read(entry)
        for entry in chosen.iterdir()
        if entry.name.rpartition(".")[2] in _MEDIA_TYPES
    }


def _docs_files() -> dict[str, _PageFile]:
    """Return the files of the documentation by name."""
    own = [FOLDER.joinpath(name) for name in _OWN_DOCS]
    shipped = [_SHIPPED_FOLDER.joinpath(name) for name in _SHIPPED_DOCS]
    return {entry.name: _read(entry) for entry in (*own, *shipped)}


def _read(entry: Traversable) -> _PageFile:
    return _PageFile(
        data=entry.read_bytes().replace(_FOREIGN_PICTURE, b"data:,"),
        media_type=_MEDIA_TYPES[entry.name.rpartition(".")[2]],
        is_immutable=_HASHED.fullmatch(entry.name) is not None,
    )


_PAGE = page_files()
_DOCS = _docs_files()

router = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/learn")
async def get_page(request: Request) -> Response:
    """Answer the web page; under `/learn` with lessons."""
    return _page(_PAGE[_INDEX].data, _NOBODY, opens_github=request.app.state.page_opens_github)


@router.get("/openapi.json")
async def get_document(request: Request) -> Response:
    """Answer the OpenAPI document."""
    document: OpenApiDocument = request.app.state.document
    return Response(await document.read(), media_type="application/json")


@router.get("/openapi-adapters.json")
async def get_adapters_document(request: Request) -> Response:
    """Answer the OpenAPI document of the APIs of other projects."""
    document: OpenApiDocument = request.app.state.adapters_document
    return Response(await document.read(), media_type="application/json")


@router.get(f"{EMBEDDED}{{digest}}")
async def get_embedded_page(request: Request, digest: str) -> Response:
    """Answer a read-only page of a stored state, for a window or a frame.

    It is the only one that a frame may hold: of this service's own pages, and of those that its
    operator names.
    """
    if _NONCE not in _PAGE[_INDEX].data:
        detail = "This service has only the plain page, which no frame can show; run `make page`"
        raise ProblemRaised("not_found", detail)
    if not DIGEST.fullmatch(digest):
        detail = f"{digest[:100]!r} is not sha256: and 64 hexadecimal digits, as a permalink has"
        raise ProblemRaised("not_found", detail)
    origins = request.app.state.framing_origins
    if not origins and is_foreign_frame(request):
        return refused_frame()
    ancestors = " ".join(["'self'", *origins])
    return _page(_PAGE[_INDEX].data.replace(_FILES, b'="../page/'), ancestors)


@router.get("/page/{name}")
async def get_page_file(request: Request, name: str) -> Response:
    """Answer a style or script of the page."""
    file = _PAGE.get(name)
    if file is None or name == _INDEX:
        raise ProblemRaised("not_found", f"There is no file {name!r} of the page")
    return await _answer(request, file, _FILE_POLICY)


@router.get("/docs")
async def get_docs(request: Request) -> Response:
    """Answer Swagger UI, which can send requests."""
    return await _answer(request, _DOCS["docs.html"], _DOCS_POLICY)


@router.get("/redoc")
async def get_redoc(request: Request) -> Response:
    """Answer ReDoc."""
    return await _answer(request, _DOCS["redoc.html"], _DOCS_POLICY)


@router.get("/docs/{name}")
async def get_docs_file(request: Request, name: str) -> Response:
    """Answer a script or style of the documentation."""
    file = _DOCS.get(name)
    if file is None or name.endswith(".html"):
        raise ProblemRaised("not_found", f"There is no file {name!r} of the documentation")
    return await _answer(request, file, _DOCS_POLICY)


def _page(html: bytes, ancestors: str, *, opens_github: bool = False) -> Response:
    """Answer the page with a fresh nonce; only `ancestors` may frame it."""
    nonce = secrets.token_urlsafe(16)
    origins = f"'self' {_GITHUB}" if opens_github else "'self'"
    policy = _PAGE_POLICY.format(nonce=nonce, ancestors=ancestors, origins=origins)
    html = html.replace(_GITHUB_OPENS, b"open" if opens_github else b"")
    headers = HEADERS | {"Content-Security-Policy": policy}
    return Response(html.replace(_NONCE, nonce.encode()), headers=headers, media_type="text/html")


async def _answer(request: Request, file: _PageFile, policy: str) -> Response:
    """Answer a file, compressed if that is smaller and the client accepts it."""
    headers = (KEPT if file.is_immutable else HEADERS) | {"Content-Security-Policy": policy}
    # in a thread: the largest file takes a tenth of a second
    small = await asyncio.to_thread(_gzipped, file)
    if small is None:
        return Response(file.data, headers=headers, media_type=file.media_type)
    headers |= {"Vary": "Accept-Encoding"}
    if not accepts(request.headers.get("accept-encoding", ""), "gzip"):
        return Response(file.data, headers=headers, media_type=file.media_type)
    headers |= {"Content-Encoding": "gzip"}
    return Response(small, headers=headers, media_type=file.media_type)


# The files of the web page and of the documentation: read once, compressed on request.
#
# The page is the output of `make page` in `page/`, or a plainer page with the same requests if it
# was not built. The content of the files is not inspected.


@cache
def _gzipped(file: _PageFile) -> bytes | None:
    """Return the file's bytes compressed, once; None where that would save nothing."""
    if len(file.data) < _MIN_COMPRESSED_BYTES:
        return None
    return gzip.compress(file.data, 9, mtime=0)
