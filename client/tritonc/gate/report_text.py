"""Paths and texts in reports: paths are relative to the working directory.

Text from sources and answers is shown on one line without control characters.
"""

import re
from pathlib import Path
from urllib.parse import quote

from tritonc.diagnostic import printable

MAX_CHARS = 2000


def shown_path(path: Path) -> str:
    """Return the path relative to the working directory if it is below it."""
    resolved, here = path.resolve(), Path.cwd()
    return str(resolved.relative_to(here) if resolved.is_relative_to(here) else path)


def one_line(text: str) -> str:
    """Return a bounded text on one line, with control characters escaped."""
    line = " ".join(printable(text).split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 3]}..."


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows verbatim, also in a table cell."""
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|~$-])", r"\\\1", escaped)
    # a zero-width character prevents mentions and links
    return re.sub(r"(?<=@)(?=\w)|(?<=://)", "&#8203;", escaped)


def relative_uri(path: Path) -> str | None:
    """Return the path as a relative URI, None if it is not below the working directory."""
    resolved, here = path.resolve(), Path.cwd()
    if not resolved.is_relative_to(here):
        return None
    return quote(resolved.relative_to(here).as_posix())
