"""Bodies of answers within bounds: a server may send bytes without end, or few that become many.

Nothing here opens a connection. What has arrived is kept as it was sent, and decoded in pieces, so
that neither form can exceed the limit.
"""

import io
import zlib
from collections.abc import Iterator

import httpx

from tritonc.service_errors import UnexpectedAnswer

try:
    import zstandard
except ImportError:  # it is optional: without it, the client asks for no zstd
    zstandard = None  # type: ignore[assignment]

MAX_JSON_BYTES = 64 << 20  # of any answer but a file; tritond's have at most 32 MiB
MAX_FILE_BYTES = 1 << 30  # of an artifact, a tensor, a bundle
MAX_JSON_S, MAX_FILE_S = 120.0, 900.0  # from the head of an answer to its end
ACCEPTED_ENCODINGS = "gzip" if zstandard is None else "gzip, zstd"

_PIECE_BYTES = 1 << 20
_GZIP = zlib.MAX_WBITS | 16
_HEADERS_OF_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})


class AnswerBody:
    """The body of one answer, which ends by `ends_at` and has at most `most_bytes`, also decoded.

    Raises UnexpectedAnswer when it is beyond either.
    """

    def __init__(self, answer: httpx.Response, most_bytes: int, ends_at: float) -> None:
        self._answer = answer
        self._most_bytes = most_bytes
        self._ends_at = ends_at
        self._arrived = bytearray()
        self.is_read = answer.is_stream_consumed
        """True if a transport without a connection has read it already."""
        length = answer.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and len(length) < 20:
            self._check_size(int(length))

    def add(self, piece: bytes, now: float) -> None:
        """Take the next bytes of the connection."""
        if now > self._ends_at:
            raise UnexpectedAnswer(f"{self._url} did not end its answer in time; is the URL right?")
        self._check_size(len(self._arrived) + len(piece))
        self._arrived += piece

    def whole(self) -> httpx.Response:
        """Return the answer with all of its body. Raises httpx.DecodingError."""
        answer = self._answer
        if self.is_read:
            self._check_size(len(answer.content))
            return answer
        content = bytearray()
        for piece in self._decoded():
            self._check_size(len(content) + len(piece))
            content += piece
        kept = [
            (name, value)
            for name, value in answer.headers.multi_items()
            if name.lower() not in _HEADERS_OF_TRANSFER
        ]
        return httpx.Response(
            answer.status_code,
            headers=kept,
            content=bytes(content),
            request=answer.request,
            extensions=answer.extensions,
        )

    def _decoded(self) -> Iterator[bytes]:
        encoding = self._answer.headers.get("content-encoding", "identity").strip().lower()
        match encoding:
            case "identity" | "":
                yield bytes(self._arrived)
            case "gzip":
                yield from self._gunzipped()
            case "zstd" if zstandard is not None:
                yield from self._unpacked()
            case _:
                raise UnexpectedAnswer(f"{self._url} answered in {encoding[:20]!r} unasked")

    def _gunzipped(self) -> Iterator[bytes]:
        left = bytes(self._arrived)
        while left:
            member = zlib.decompressobj(_GZIP)
            while left and not member.eof:
                try:
                    yield member.decompress(left, _PIECE_BYTES)
                except zlib.error as error:
                    raise self._undecodable(error) from error
                left = member.unconsumed_tail
            if not member.eof:
                yield member.flush(_PIECE_BYTES)
            left = member.unused_data

    def _unpacked(self) -> Iterator[bytes]:
        source = io.BytesIO(self._arrived)
        with zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True) as reader:
            while True:
                try:
                    piece = reader.read(_PIECE_BYTES)
                except zstandard.ZstdError as error:
                    raise self._undecodable(error) from error
                if not piece:
                    return
                yield piece

    def _undecodable(self, error: Exception) -> httpx.DecodingError:
        return httpx.DecodingError(str(error), request=self._answer.request)

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._most_bytes:
            limit = f"{self._most_bytes >> 20} MiB"
            raise UnexpectedAnswer(f"{self._url} answered more than {limit}; is the URL right?")

    @property
    def _url(self) -> httpx.URL:
        return self._answer.url.copy_with(query=None)
