"""The one message format between the worker and its children: a prefix, a JSON header, raw bytes.

Hostile code may have written the bytes that arrive: everything is bounded and checked. Runs on the
standard library alone, on both sides.
"""

import json
import math
import struct
from dataclasses import fields, is_dataclass
from io import BytesIO
from typing import Any, NamedTuple, NoReturn

MAGIC = b"TRTD"
VERSION = 1
NONCE_BYTES = 16
NO_JOB = bytes(NONCE_BYTES)
"""The nonce of frames that a child sends before it has a job."""

MAX_HEADER_BYTES = 4 << 20
MAX_JOB_HEADER_BYTES = 64 << 20
"""The limit for a job, which the worker writes: JSON of the files of a request may be six times as
long as they are, and some orders have them twice."""
MAX_BODY_BYTES = 512 << 20
"""The size limit of one frame. The parent bounds how much a child may send in total."""

_LARGE_BYTES = 256 << 10
"""Larger bodies are kept as they arrive."""
_PREFIX = struct.Struct("<4sB16sII")


class FrameError(Exception):
    """The bytes are not a frame, or not one that is expected here.

    The message names the broken rule.
    """


class Frame(NamedTuple):
    """One message: whose job it belongs to, a header, and bulk bytes."""

    nonce: bytes
    header: dict[str, Any]
    body: bytes


def encode(
    nonce: bytes,
    header: dict[str, Any],
    body: bytes = b"",
    *,
    max_header_bytes: int = MAX_HEADER_BYTES,
) -> bytes:
    """Return the bytes of one frame. Raises FrameError when a part is too big or is not JSON."""
    if len(nonce) != NONCE_BYTES:
        raise FrameError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    try:
        text = json.dumps(
            header, allow_nan=False, separators=(",", ":"), ensure_ascii=False, default=_members
        ).encode(errors="replace")  # a lone surrogate cannot be encoded as UTF-8
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"the header is not JSON: {error}") from error
    _check_sizes(len(text), len(body), max_header_bytes, MAX_BODY_BYTES)
    return b"".join((_PREFIX.pack(MAGIC, VERSION, nonce, len(text), len(body)), text, body))


def _members(record: Any) -> dict[str, Any]:
    """Return the JSON form of a record in a header, such as a diagnostic."""
    if not is_dataclass(record) or isinstance(record, type):
        message = f"JSON has no {type(record).__name__}"
        raise TypeError(message)
    return {item.name: getattr(record, item.name) for item in fields(record)}


def _check_sizes(header: int, body: int, max_header: int, max_body: int) -> None:
    if header > max_header:
        raise FrameError(f"the header has {header} bytes, more than {max_header}")
    if body > max_body:
        raise FrameError(f"the body has {body} bytes, more than {max_body}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large for a double")
    return number


def _parse_header(text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise FrameError(f"the header is a JSON {type(header).__name__}, not an object")
    if b"\\u" in text and not _is_unicode(header):
        raise FrameError("the header holds half of a character, which UTF-8 cannot express")
    return header


def _is_unicode(header: dict[str, Any]) -> bool:
    try:
        json.dumps(header, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


class _OpenFrame:
    """A frame whose body arrives: no step copies all of it."""

    def __init__(self, nonce: bytes, header: dict[str, Any], size_bytes: int) -> None:
        self._nonce, self._header, self.size_bytes = nonce, header, size_bytes
        self._body = BytesIO()

    @property
    def missing_bytes(self) -> int:
        return self.size_bytes - self._body.tell()

    @property
    def frame(self) -> Frame:
        return Frame(self._nonce, self._header, self._body.getvalue())

    def take(self, data: bytes) -> bytes:
        """Take what belongs to the body, and return what follows it."""
        missing = self.missing_bytes
        self._body.write(data[:missing] if len(data) > missing else data)
        return data[missing:]


class Decoder:
    """Turns a stream of bytes into frames; sizes are checked before that much is kept."""

    def __init__(
        self,
        max_header_bytes: int = MAX_HEADER_BYTES,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._max_header_bytes = max_header_bytes
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        self._open: _OpenFrame | None = None
        """A frame with a large body, parts of which have arrived."""

    @property
    def pending_bytes(self) -> int:
        """The number of buffered bytes of an unfinished frame, its header aside where it is large.

        It is 0 between frames.
        """
        return len(self._buffer) + (0 if self._open is None else self._open.size_bytes)

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames they complete. Raises FrameError."""
        frames: list[Frame] = []
        if self._open is not None:
            data = self._open.take(data)
            if self._open.missing_bytes:
                return frames
            frames.append(self._open.frame)
            self._open = None
        self._buffer += data
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        if len(self._buffer) < _PREFIX.size:
            return None
        magic, version, nonce, header_size, body_size = _PREFIX.unpack_from(self._buffer)
        if magic != MAGIC:
            raise FrameError(f"a frame starts with {MAGIC!r}, not {bytes(magic)!r}")
        if version != VERSION:
            raise FrameError(f"frame version {version} is not {VERSION}")
        _check_sizes(header_size, body_size, self._max_header_bytes, self._max_body_bytes)
        body_at = _PREFIX.size + header_size
        if len(self._buffer) < body_at or (
            body_size < _LARGE_BYTES and len(self._buffer) < body_at + body_size
        ):
            return None
        header = _parse_header(bytes(self._buffer[_PREFIX.size : body_at]))
        if len(self._buffer) < body_at + body_size:
            self._open = _OpenFrame(nonce, header, body_size)
            self._open.take(bytes(self._buffer[body_at:]))
            self._buffer.clear()
            return None
        body = bytes(self._buffer[body_at : body_at + body_size])
        del self._buffer[: body_at + body_size]
        return Frame(nonce, header, body)
