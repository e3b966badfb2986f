"""Files and standard streams as the command line names them: `-` is a standard stream.

A file or a pipe gets each byte as it is. A terminal would obey some of them: there what a server
sent is escaped, and JSON stays JSON.
"""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tritonc.diagnostic import printable, printable_json
from tritonc.python_file import text_of

STANDARD = "-"


def read(path: str) -> str:
    """Return a text. Raises OSError, also for what is not UTF-8, naming the file."""
    try:
        return sys.stdin.read() if path == STANDARD else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise OSError(f"{name_of(path)} is no text in UTF-8: {error}") from error


def read_python(path: str) -> str:
    """Return the text of a Python file. Raises OSError, also for one that Python cannot read."""
    data = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
    return text_of(data, name_of(path))


def name_of(path: str) -> str:
    """Return what to call a source in messages."""
    return "<stdin>" if path == STANDARD else path


def check_writable(path: str, said: str) -> None:
    """Refuse a path that nothing can be written to, before there is something to write.

    Raises ArgumentTypeError, which begins with what was `said`.
    """
    if path != STANDARD and Path(path).is_dir():
        raise ArgumentTypeError(f"{said}: that is a folder; name a file in it")
    if path != STANDARD and not Path(path).parent.is_dir():
        raise ArgumentTypeError(f"{said}: there is no folder {Path(path).parent}")


def write(content: str | bytes, path: str) -> None:
    """Write to a file, or to standard output for `-`.

    Raises OSError if it cannot be written; a binary is not written to a terminal.
    """
    if path == STANDARD and sys.stdout.isatty():
        shown = (
            content.decode("utf-8", "backslashreplace") if isinstance(content, bytes) else content
        )
        if "\0" in shown:
            raise OSError("this is a binary and standard output a terminal; redirect it to a file")
        _write(printable(shown).encode(sys.stdout.encoding, "backslashreplace"))
        return
    try:
        data = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        raise OSError(f"{path}: what the service sent is no text: {error}") from error
    if path == STANDARD:
        _write(data)
    else:
        Path(path).write_bytes(data)


def write_json(document: Mapping[str, Any], indent: int | None = 2) -> None:
    """Write a document to standard output, on one line without `indent`."""
    # an encoding that lacks a character gets its escape, as does the half of a surrogate pair
    has_all = sys.stdout.encoding.lower() == "utf-8" or not sys.stdout.isatty()
    text = json.dumps(document, indent=indent, ensure_ascii=not has_all)
    shown = printable_json(text) if sys.stdout.isatty() else text
    _write(shown.encode("utf-8", "backslashreplace") + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
