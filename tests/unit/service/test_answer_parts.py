"""Answers in parts: small parts are sent together, large ones in pieces."""

import asyncio

import pytest
from starlette.responses import StreamingResponse

from service.http.answer_parts import parts_response


async def sent(parts: list[bytes]) -> list[bytes]:
    response = parts_response(parts, {})
    assert isinstance(response, StreamingResponse)
    assert response.headers["content-length"] == str(sum(map(len, parts)))
    return [bytes(piece) async for piece in response.body_iterator]


@pytest.mark.parametrize(
    ("parts", "most_pieces"),
    [
        pytest.param([b"row,"] * 20_000, 1, id="many small parts"),
        pytest.param([b"x" * (5 << 20)], 6, id="one large part"),
        pytest.param([b"a", b"b" * (3 << 20), b"c"], 5, id="both"),
        pytest.param([b"", b""], 1, id="no bytes"),
    ],
)
async def test_the_pieces_are_the_parts(parts: list[bytes], most_pieces: int) -> None:
    pieces = await sent(parts)

    assert b"".join(pieces) == b"".join(parts)
    assert len(pieces) <= most_pieces
    assert max(map(len, pieces)) <= (1 << 20) + (256 << 10)


async def test_others_have_a_turn_between_two_pieces() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    pieces = await sent([b"x" * (4 << 20)])
    counting.cancel()

    assert turns >= len(pieces) - 1
