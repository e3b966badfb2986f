"""The web page: three static files, and a policy under which nothing else can be loaded or run."""

from importlib.resources import files

from fastapi import APIRouter, Response

from service.http.problems import ProblemRaised

router = APIRouter(include_in_schema=False)
MEDIA_TYPES = {"index.html": "text/html", "style.css": "text/css", "script.js": "text/javascript"}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
PAGE_FOLDER = files("service").joinpath("page")
_CONTENT = {name: PAGE_FOLDER.joinpath(name).read_bytes() for name in MEDIA_TYPES}


@router.get("/")
async def get_page() -> Response:
    """Answer the page, with which a kernel can be compiled and looked at."""
    return _answer("index.html")


@router.get("/page/{name}")
async def get_file(name: str) -> Response:
    """Answer the page's style or script."""
    if name not in MEDIA_TYPES:
        raise ProblemRaised("not_found", f"There is no file {name!r} of the page")
    return _answer(name)


def _answer(name: str) -> Response:
    return Response(_CONTENT[name], headers=HEADERS, media_type=MEDIA_TYPES[name])
