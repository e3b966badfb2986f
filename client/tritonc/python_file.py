"""The text of a Python file, read as Python reads it: in UTF-8, or as its coding line says."""

import io
import tokenize


def text_of(data: bytes, name: str) -> str:
    """Return the text of a file's bytes, without a byte order mark.

    Raises OSError, which names the file, for an encoding that Python has not, and for bytes that
    are none of it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise OSError(f"{name} is no Python text: {error.msg}; save it as UTF-8") from error
    try:
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (UnicodeError, LookupError) as error:
        raise OSError(f"{name} is no text in {encoding}: {error}; save it as UTF-8") from error
