"""The parts of a frame's body that its header names by `[offset, size]`."""

from __future__ import annotations

from collections.abc import Sequence


def part(body: bytes, place: Sequence[int]) -> bytes:
    """Return the bytes at `[offset, size]` of `body`. Raises `ValueError` beyond its end."""
    return bytes(shared_part(body, place))


def shared_part(body: bytes, place: Sequence[int]) -> memoryview:
    """Return the same without a copy of it. Raises `ValueError` beyond its end."""
    offset, size = place
    if offset < 0 or size < 0 or offset + size > len(body):
        message = f"the body has {len(body)} bytes, none at [{offset}, {size}]"
        raise ValueError(message)
    return memoryview(body)[offset : offset + size]
