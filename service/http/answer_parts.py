"""JSON answers of several records: bounded while they are collected, and sent part by part.

No answer is joined in memory, so it takes its own size once.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from fastapi import Response
from fastapi.responses import StreamingResponse

from store.byte_limits import MAX_ANSWER_BYTES
from store.frames import PIECE_BYTES, pieces_of

JSON = "application/json"
_SENT_BYTES = 256 << 10


class AnswerRoom:
    """The bytes that are left in an answer."""

    def __init__(self, limit_bytes: int = MAX_ANSWER_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self.left_bytes = limit_bytes

    def take(self, size_bytes: int) -> bool:
        """Return whether this number of bytes fits, and count it if it does."""
        if size_bytes > self.left_bytes:
            return False
        self.left_bytes -= size_bytes
        return True


def parts_response(
    parts: Sequence[bytes],
    headers: Mapping[str, str],
    status: int = 200,
    media_type: str = JSON,
) -> Response:
    """Return an answer whose body is `parts` in order."""
    if len(parts) == 1 and len(parts[0]) <= PIECE_BYTES:
        return Response(parts[0], status_code=status, headers=dict(headers), media_type=media_type)
    length = {"Content-Length": str(sum(map(len, parts)))}
    return StreamingResponse(
        _each(parts), status_code=status, headers={**headers, **length}, media_type=media_type
    )


async def _each(parts: Sequence[bytes]) -> AsyncIterator[bytes]:
    """Yield the bytes of `parts` in pieces, each in its own step of the event loop.

    Sending a small part costs more than its bytes do, and a large one is copied in one step.
    """
    waiting: list[memoryview] = []
    size_bytes = 0
    for piece in (piece for part in parts for piece in pieces_of(part)):
        waiting.append(piece)
        size_bytes += len(piece)
        if size_bytes >= _SENT_BYTES:
            yield b"".join(waiting)
            waiting, size_bytes = [], 0
            await asyncio.sleep(0)
    yield b"".join(waiting)
