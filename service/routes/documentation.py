"""The interactive documentation, whose scripts and styles are served from here and nowhere else.

Swagger UI and ReDoc are the files that `fastapi-offline` ships; its code is not used.
"""

from importlib.resources import files

from fastapi import APIRouter, Response

from service.http.problems import ProblemRaised
from service.routes.page import HEADERS, PAGE_FOLDER

router = APIRouter(include_in_schema=False)
OWN = {"docs.html": "text/html", "redoc.html": "text/html", "docs.js": "text/javascript"}
SHIPPED = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "redoc.standalone.js": "text/javascript",
}
# both libraries write styles and small pictures into the page while they draw it
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
    "data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SHIPPED_FOLDER = files("fastapi_offline").joinpath("static")
_CONTENT = {name: PAGE_FOLDER.joinpath(name).read_bytes() for name in OWN} | {
    name: _SHIPPED_FOLDER.joinpath(name).read_bytes() for name in SHIPPED
}


@router.get("/docs")
async def get_docs() -> Response:
    """Answer Swagger UI, in which requests can be tried."""
    return _answer("docs.html")


@router.get("/redoc")
async def get_redoc() -> Response:
    """Answer ReDoc, to read."""
    return _answer("redoc.html")


@router.get("/docs/{name}")
async def get_file(name: str) -> Response:
    """Answer a script or style of the documentation."""
    if name not in _CONTENT or name.endswith(".html"):
        raise ProblemRaised("not_found", f"There is no file {name!r} of the documentation")
    return _answer(name)


def _answer(name: str) -> Response:
    headers = HEADERS | {"Content-Security-Policy": _POLICY}
    return Response(_CONTENT[name], headers=headers, media_type=(OWN | SHIPPED)[name])
