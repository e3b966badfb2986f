"""The files of the web page and of the documentation: read, and compressed, once.

The page is what `make page` built of `page/`; where nobody built it, a plainer one of the same
requests stands in. Nothing here looks at what is in a file.
"""

import gzip
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

INDEX = "index.html"
FOLDER = files("service").joinpath("page")
_SHIPPED_FOLDER = files("fastapi_offline").joinpath("static")
_SHIPPED_DOCS = ("swagger-ui-bundle.js", "swagger-ui.css", "redoc.standalone.js")
_OWN_DOCS = ("docs.html", "redoc.html", "docs.js")
_HASHED = re.compile(r".+-[A-Z0-9]{8}\.(?:js|css)")
"""What the bundler names a file whose digest stands in its name: it never changes."""
_MEDIA_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
_FOREIGN_PICTURE = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
"""Of ReDoc's maker, at whose host nobody shall be seen reading."""
_LEAST_COMPRESSED_BYTES = 1000


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is served; `gzipped` is None where that would save nothing."""

    data: bytes
    gzipped: bytes | None
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


def _read(entry: Traversable) -> PageFile:
    data = entry.read_bytes().replace(_FOREIGN_PICTURE, b"data:,")
    is_text = entry.name != INDEX  # which is another one in every answer
    gzipped = (
        gzip.compress(data, 9, mtime=0)
        if is_text and len(data) >= _LEAST_COMPRESSED_BYTES
        else None
    )
    return PageFile(
        data=data,
        gzipped=gzipped,
        media_type=_MEDIA_TYPES[entry.name.rpartition(".")[2]],
        is_immutable=_HASHED.fullmatch(entry.name) is not None,
    )
