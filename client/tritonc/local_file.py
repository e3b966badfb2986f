"""Reads files of this machine: Python texts, and files that a stranger may have written.

A pipe or a device would never end, and a sparse file takes nothing but memory.
"""

import errno
import io
import os
import stat
import tokenize
from pathlib import Path

MAX_TEXT_BYTES = 4 << 20
"""The limit of a source, which is also that of a request's files together."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def bounded_bytes(path: Path, most_bytes: int = MAX_TEXT_BYTES) -> bytes:
    """Return the bytes of a regular file of at most `most_bytes`. Raises OSError."""
    descriptor = os.open(path, _FLAGS)  # not blocking: else a pipe waits for its writer
    with os.fdopen(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "this is not a regular file", str(path))
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        limit = f"the file has more than the {most_bytes >> 20} MiB allowed"
        raise OSError(errno.EFBIG, limit, str(path))
    return data


def text_of(data: bytes, name: str) -> str:
    """Return the text of a file's bytes, without a byte order mark.

    Raises OSError with the file's name for unknown encodings and for bytes that do not match.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise OSError(f"{name} is not Python text: {error.msg}; save it as UTF-8") from error
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (UnicodeError, LookupError) as error:
        raise OSError(f"{name} is not valid {encoding}: {error}; save it as UTF-8") from error
