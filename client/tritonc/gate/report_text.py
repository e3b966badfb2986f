"""Where something is in the user's files, as reports name it: as seen from the working directory.

What reports show of sources and answers is one line of text without control characters.
"""

import re
from pathlib import Path
from urllib.parse import quote

from tritonc.diagnostic import printable

MAX_CHARS = 2000


def shown_path(path: Path) -> str:
    """Return the path from the working directory, or as it is where it is not below that."""
    resolved, here = path.resolve(), Path.cwd()
    return str(resolved.relative_to(here) if resolved.is_relative_to(here) else path)


def one_line(text: str) -> str:
    """Return a text on one line, not too long, without what could drive a terminal."""
    line = " ".join(printable(text).split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 3]}..."


def markdown_text(text: str) -> str:
    """Return a text that Markdown shows as it is, within a cell of a table, too."""
    escaped = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    escaped = re.sub(r"([\\`*_{}\[\]()#+!|~$-])", r"\\\1", escaped)
    # a zero-width character keeps names from becoming mentions and addresses from becoming links
    return re.sub(r"(?<=@)(?=\w)|(?<=://)", "&#8203;", escaped)


def relative_uri(path: Path) -> str | None:
    """Return the path as a relative URI, None where it is not below the working directory."""
    resolved, here = path.resolve(), Path.cwd()
    if not resolved.is_relative_to(here):
        return None
    return quote(resolved.relative_to(here).as_posix())
