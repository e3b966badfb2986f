"""The programs of a grid that a re-check runs: all of a small one, else those near its edges."""

from __future__ import annotations

from collections.abc import Iterable

_ENDS = (1 << 31, 1 << 32)


def sampled_programs(grid: tuple[int, int, int], sizes: Iterable[int], most: int) -> list[int]:
    """Return the numbers of at most `most` programs, the first axis fastest, in order.

    Of a grid that is larger: the first and last ones, those next to them, and those whose product
    with one of the `sizes` passes the end of an integer.
    """
    width, height, depth = grid
    total = width * height * depth
    if total <= most:
        return list(range(total))
    last = width - 1, height - 1, depth - 1
    picked = [(0, 0, 0), last, (last[0], 0, 0), (1, 0, 0), (0, last[1], last[2])]
    for size in sorted(set(sizes), reverse=True):
        for end in _ENDS:
            if size > 1 and 0 < end // size < width:
                picked += [(end // size, 0, 0), (end // size, last[1], last[2])]
    picked += [(last[0] - 1, last[1], last[2]), (width // 2, height // 2, depth // 2), (2, 1, 1)]
    legal = [
        program
        for program in picked
        if all(0 <= a <= b for a, b in zip(program, last, strict=True))
    ]
    numbers = dict.fromkeys(x + width * (y + height * z) for x, y, z in legal)
    return sorted(list(numbers)[:most])
