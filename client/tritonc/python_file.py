"""The text of a Python file, decoded as Python does: UTF-8, or its coding line."""

import io
import tokenize


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
