"""Files and standard streams as the command line names them: `-` is a standard stream."""

import json
import sys
from argparse import ArgumentTypeError
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STANDARD = "-"


def read(path: str) -> str:
    """Return a text. Raises OSError, also for what is not UTF-8, naming the file."""
    try:
        return sys.stdin.read() if path == STANDARD else Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise OSError(f"{name_of(path)} is no text in UTF-8: {error}") from error


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
    data = content.encode() if isinstance(content, str) else content
    if path != STANDARD:
        Path(path).write_bytes(data)
        return
    if sys.stdout.isatty() and b"\0" in data:
        raise OSError("this is a binary and standard output a terminal; redirect it to a file")
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_json(document: Mapping[str, Any]) -> None:
    """Write a document to standard output."""
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
    sys.stdout.flush()
