"""Several texts or binaries in the one body that a task is given, by their sizes."""

from __future__ import annotations

from collections.abc import Mapping


def split(body: bytes, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """Return the parts of `body`, which follow each other in the order of `sizes`.

    Raises `ValueError` when the sizes are not those of the body.
    """
    if sum(sizes.values()) != len(body):
        message = f"parts of {sum(sizes.values())} bytes in a body of {len(body)} bytes"
        raise ValueError(message)
    parts, start = {}, 0
    for name, size in sizes.items():
        parts[name] = body[start : start + size]
        start += size
    return parts
