"""Files and standard streams of the command line; `-` is a standard stream.

Files and pipes get the bytes unchanged. Terminals would obey control characters, so text from a
server is escaped for them; JSON stays valid JSON.
"""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tritonc.diagnostic import printable, printable_json
from tritonc.local_file import text_of

STANDARD = "-"


def read(path: str) -> str:
    """Return a text. Raises OSError with the file's name, also if it is not UTF-8."""
    try:
        return sys.stdin.read() if path == STANDARD else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise OSError(f"{name_of(path)} is not valid UTF-8: {error}") from error


def read_python(path: str) -> str:
    """Return the text of a Python file. Raises OSError, also for invalid encodings."""
    data = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
    return text_of(data, name_of(path))


def name_of(path: str) -> str:
    """Return the name of a source in messages."""
    return "<stdin>" if path == STANDARD else path


def check_writable(path: str, begin: str) -> None:
    """Raise an error early for a path that cannot be written.

    The message of the ArgumentTypeError begins with `begin`.
    """
    if path != STANDARD and Path(path).is_dir():
        raise ArgumentTypeError(f"{begin}: this is a folder; name a file in it")
    if path != STANDARD and not Path(path).parent.is_dir():
        raise ArgumentTypeError(f"{begin}: folder {Path(path).parent} does not exist; create it")


def write(content: str | bytes, path: str) -> None:
    """Write to a file, or to standard output for `-`.

    Raises OSError if it cannot be written, or if a binary would go to a terminal.
    """
    if path == STANDARD and sys.stdout.isatty():
        shown = (
            content.decode("utf-8", "backslashreplace") if isinstance(content, bytes) else content
        )
        if "\0" in shown:
            raise OSError("cannot write a binary to a terminal; redirect standard output to a file")
        _write(printable(shown).encode(sys.stdout.encoding, "backslashreplace"))
        return
    try:
        data = content.encode() if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        raise OSError(f"{path}: the service sent invalid Unicode: {error}") from error
    if path == STANDARD:
        _write(data)
    else:
        Path(path).write_bytes(data)


def write_json(document: Mapping[str, Any], indent: int | None = 2) -> None:
    """Write a document to standard output, on one line if `indent` is None."""
    # escape characters that the encoding lacks, and lone surrogates
    has_all = sys.stdout.encoding.lower() == "utf-8" or not sys.stdout.isatty()
    text = json.dumps(document, indent=indent, ensure_ascii=not has_all)
    shown = printable_json(text) if sys.stdout.isatty() else text
    _write(shown.encode("utf-8", "backslashreplace") + b"\n")


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
