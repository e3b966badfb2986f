"""The web page and the interactive documentation: static files, loaded from here and nowhere else.

Swagger UI and ReDoc are the files that `fastapi-offline` ships; its code is not used. No page may
load or run anything that its policy does not name.
"""

from importlib.resources import files

from fastapi import APIRouter, Response

from service.http.problems import ProblemRaised

PAGE_FOLDER = files("service").joinpath("page")
_SHIPPED_FOLDER = files("fastapi_offline").joinpath("static")
PAGE_FILES = {"index.html": "text/html", "style.css": "text/css", "script.js": "text/javascript"}
_OWN_DOCS = {"docs.html": "text/html", "redoc.html": "text/html", "docs.js": "text/javascript"}
_SHIPPED_DOCS = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "redoc.standalone.js": "text/javascript",
}
DOCS_FILES = _OWN_DOCS | _SHIPPED_DOCS
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
# Swagger UI and ReDoc write styles and small pictures into the page while they draw it
DOCS_HEADERS = HEADERS | {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
        "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
_PAGE = {name: PAGE_FOLDER.joinpath(name).read_bytes() for name in PAGE_FILES}
_DOCS = {name: PAGE_FOLDER.joinpath(name).read_bytes() for name in _OWN_DOCS} | {
    name: _SHIPPED_FOLDER.joinpath(name).read_bytes() for name in _SHIPPED_DOCS
}

router = APIRouter(include_in_schema=False)


@router.get("/")
async def get_page() -> Response:
    """Answer the page, with which a kernel can be compiled and looked at."""
    return _answer_page("index.html")


@router.get("/page/{name}")
async def get_page_file(name: str) -> Response:
    """Answer the page's style or script."""
    if name not in PAGE_FILES:
        raise ProblemRaised("not_found", f"There is no file {name!r} of the page")
    return _answer_page(name)


@router.get("/docs")
async def get_docs() -> Response:
    """Answer Swagger UI, in which requests can be tried."""
    return _answer_docs("docs.html")


@router.get("/redoc")
async def get_redoc() -> Response:
    """Answer ReDoc, to read."""
    return _answer_docs("redoc.html")


@router.get("/docs/{name}")
async def get_docs_file(name: str) -> Response:
    """Answer a script or style of the documentation."""
    if name not in DOCS_FILES or name.endswith(".html"):
        raise ProblemRaised("not_found", f"There is no file {name!r} of the documentation")
    return _answer_docs(name)


def _answer_page(name: str) -> Response:
    return Response(_PAGE[name], headers=HEADERS, media_type=PAGE_FILES[name])


def _answer_docs(name: str) -> Response:
    return Response(_DOCS[name], headers=DOCS_HEADERS, media_type=DOCS_FILES[name])
