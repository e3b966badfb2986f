"""Zstd frames of bytes, and their digests.

What is large is hashed, packed and unpacked in a thread, piece by piece: other requests and jobs of
the process go on meanwhile, and other work of its threads takes turns with the pieces.
"""

import asyncio
import hashlib
from collections.abc import Iterator
from io import BytesIO
from typing import Final

import zstandard

LEVEL: Final = 3
MAX_BLOB_BYTES: Final = 512 * 1024 * 1024
IN_LOOP_BYTES: Final = 256 << 10
"""Larger bytes are worked on in threads."""
PIECE_BYTES: Final = 1 << 20
Bytes = bytes | bytearray | memoryview
# Making one takes as long as unpacking a stage. Only the event loop unpacks, so it can be shared.
_DECOMPRESSOR: Final = zstandard.ZstdDecompressor()


def digest_of(data: Bytes) -> str:
    """Return the name of `data`: "sha256:" and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def pieces_of(data: Bytes) -> Iterator[memoryview]:
    """Yield the pieces of `data`, in order."""
    view = memoryview(data)
    for at in range(0, len(view), PIECE_BYTES):
        yield view[at : at + PIECE_BYTES]


async def digested(*parts: Bytes) -> str:
    """Return `digest_of` the parts, one behind the other."""
    digest = hashlib.sha256()
    is_large = sum(map(len, parts)) > IN_LOOP_BYTES
    waiting: list[memoryview] = []
    waiting_bytes = 0
    for part in parts:
        for piece in pieces_of(part):
            waiting.append(piece)
            waiting_bytes += len(piece)
            if is_large and waiting_bytes >= PIECE_BYTES:
                await asyncio.to_thread(_hash, digest, waiting)
                waiting, waiting_bytes = [], 0
    if is_large:
        await asyncio.to_thread(_hash, digest, waiting)
    else:
        _hash(digest, waiting)
    return "sha256:" + digest.hexdigest()


def _hash(digest: "hashlib._Hash", pieces: list[memoryview]) -> None:
    for piece in pieces:
        digest.update(piece)


async def packed(data: Bytes) -> tuple[str, bytes | bytearray]:
    """Return the digest of `data`, and its frame."""
    if len(data) <= IN_LOOP_BYTES:
        return digest_of(data), zstandard.ZstdCompressor(level=LEVEL).compress(data)
    blob = ArrivingBlob(len(data))
    await blob.add(data)
    return await blob.finish(), blob.frame


async def unpacked(frame: bytes, digest: str) -> bytes | None:
    """Return the bytes in a zstd frame, None when they are not those that `digest` names."""
    try:
        size_bytes = zstandard.frame_content_size(frame)
        if not 0 <= size_bytes <= MAX_BLOB_BYTES:
            return None
        if max(size_bytes, len(frame)) <= IN_LOOP_BYTES:
            data = _DECOMPRESSOR.decompress(frame)
            return data if digest_of(data) == digest else None
        return await _unpacked_in_pieces(frame, size_bytes, digest)
    except zstandard.ZstdError:
        return None


async def decompressed(frame: bytes) -> bytes:
    """Return the bytes in a zstd frame that this deployment made. Raises ZstdError."""
    if zstandard.frame_content_size(frame) <= IN_LOOP_BYTES:
        return zstandard.ZstdDecompressor().decompress(frame)
    return await asyncio.to_thread(zstandard.ZstdDecompressor().decompress, frame)


async def _unpacked_in_pieces(frame: bytes, size_bytes: int, digest: str) -> bytes | None:
    reader = zstandard.ZstdDecompressor().stream_reader(frame)
    content, hashed = BytesIO(), hashlib.sha256()

    def take_piece() -> bool:
        piece = reader.read(PIECE_BYTES)
        content.write(piece)
        hashed.update(piece)
        return bool(piece)

    while await asyncio.to_thread(take_piece):
        if content.tell() > size_bytes:
            return None
    return content.getvalue() if "sha256:" + hashed.hexdigest() == digest else None


def content_bytes_of(frame: bytes | bytearray) -> int:
    """Return the size of the content in the header of a zstd frame, -1 for none or no frame."""
    try:
        return zstandard.frame_content_size(frame)
    except zstandard.ZstdError:
        return -1


def most_frame_bytes(content_bytes: int) -> int:
    """Return the most that a frame of so much content takes, whatever version of zstd made it."""
    return content_bytes + content_bytes // 128 + (1 << 10)


class ArrivingBlob:
    """A blob of `size_bytes` that comes in parts: what came is compressed, and kept as that alone.

    `finish` raises ValueError when there came more or less.
    """

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.frame = bytearray()
        self._came_bytes = 0
        self._waiting = bytearray()
        self._digest = hashlib.sha256()
        self._compressor: zstandard.ZstdCompressionObj | None = None

    async def add(self, part: Bytes) -> None:
        """Take the next part."""
        self._came_bytes += len(part)
        for piece in pieces_of(part):
            self._waiting += piece
            if len(self._waiting) >= PIECE_BYTES:
                await asyncio.to_thread(self._compress)

    async def finish(self) -> str:
        """Return the digest; `frame` is complete then."""
        if self._came_bytes != self.size_bytes:
            raise ValueError(f"{self._came_bytes} of {self.size_bytes} bytes arrived")
        if self._came_bytes <= IN_LOOP_BYTES:
            self._end()
        else:
            await asyncio.to_thread(self._end)
        return "sha256:" + self._digest.hexdigest()

    def _end(self) -> None:
        self.frame += self._compress().flush()

    def _compress(self) -> "zstandard.ZstdCompressionObj":
        # made when there is something for it, as it takes more than a megabyte itself
        if self._compressor is None:
            compressor = zstandard.ZstdCompressor(level=LEVEL)
            self._compressor = compressor.compressobj(size=self.size_bytes)
        self._digest.update(self._waiting)
        self.frame += self._compressor.compress(self._waiting)
        self._waiting.clear()
        return self._compressor
