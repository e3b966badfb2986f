"""The files of the web page and of the documentation: read once, compressed on request.

The page is the output of `make page` in `page/`, or a plainer page with the same requests if it was
not built. The content of the files is not inspected.
"""

import gzip
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

INDEX = "index.html"
FOLDER = files("service").joinpath("page")
_SHIPPED_FOLDER = files("fastapi_offline").joinpath("static")
_SHIPPED_DOCS = ("swagger-ui-bundle.js", "swagger-ui.css", "redoc.standalone.js")
_OWN_DOCS = ("docs.html", "redoc.html", "docs.js")
_HASHED = re.compile(r".+-[A-Z0-9]{8}\.(?:js|css|png)")
"""The bundler's pattern of file names with a digest: such files never change."""
_MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "png": "image/png"}
_FOREIGN_PICTURE = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
"""The logo of ReDoc's maker: loading it would reveal readers to another host."""
_LEAST_COMPRESSED_BYTES = 1000


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is served; where `is_immutable`, its name holds a digest of it."""

    data: bytes
    media_type: str
    is_immutable: bool


def page_files(folder: Traversable = FOLDER) -> dict[str, PageFile]:
    """Return the files of the page in `folder` by name, among them `index.html`."""
    built = folder.joinpath("built")
    chosen = built if built.joinpath(INDEX).is_file() else folder.joinpath("plain")
    return {
        entry.name: _read(entry)
        for entry in chosen.iterdir()
        if entry.name.rpartition(".")[2] in _MEDIA_TYPES
    }


def docs_files() -> dict[str, PageFile]:
    """Return the files of the documentation by name."""
    own = [FOLDER.joinpath(name) for name in _OWN_DOCS]
    shipped = [_SHIPPED_FOLDER.joinpath(name) for name in _SHIPPED_DOCS]
    return {entry.name: _read(entry) for entry in (*own, *shipped)}


@cache
def gzipped(file: PageFile) -> bytes | None:
    """Return the file's bytes compressed, once; None where that would save nothing."""
    if len(file.data) < _LEAST_COMPRESSED_BYTES:
        return None
    return gzip.compress(file.data, 9, mtime=0)


def _read(entry: Traversable) -> PageFile:
    return PageFile(
        data=entry.read_bytes().replace(_FOREIGN_PICTURE, b"data:,"),
        media_type=_MEDIA_TYPES[entry.name.rpartition(".")[2]],
        is_immutable=_HASHED.fullmatch(entry.name) is not None,
    )
