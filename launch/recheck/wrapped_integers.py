"""Compares what a kernel does as it is with what it does in 64 bits: the accesses that differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from launch.recheck.access_memory import ReachedElements, WatchedBuffer

MASK_DIFFERS = "runs other lanes than with integers of 64 bits"


def wrapped_accesses(
    machine: Sequence[ReachedElements],
    exact: Sequence[ReachedElements],
    buffers: Sequence[WatchedBuffer],
) -> dict[int, str]:
    """Return what accesses do that use an integer that wrapped, by their numbers.

    Both lists are in the order of the runs, which may have been cut; where control flow differs,
    the first accesses that do are named, and the rest is not compared.
    """
    found: dict[int, str] = {}
    for mine, other in zip(machine, exact, strict=False):
        if mine.access != other.access or mine.shape != other.shape:
            found.setdefault(mine.access, MASK_DIFFERS)
            found.setdefault(other.access, MASK_DIFFERS)
            break
        message = _difference(mine, other, buffers)
        if message:
            found.setdefault(mine.access, message)
    return found


def _difference(
    mine: ReachedElements, other: ReachedElements, buffers: Sequence[WatchedBuffer]
) -> str:
    lanes = [np.bool_(True) if one.live is None else one.live for one in (mine, other)]
    if mine.live is not other.live and (lanes[0] != lanes[1]).any():
        return MASK_DIFFERS
    differs = (mine.elements != other.elements) & lanes[0]
    if not differs.any():
        return ""
    at = tuple(int(place) for place in np.argwhere(differs)[0])
    mine_at, other_at = (
        int(np.broadcast_to(one.elements, differs.shape)[at]) for one in (mine, other)
    )
    number = mine.buffer if isinstance(mine.buffer, int) else int(mine.buffer.flat[0])
    name = buffers[number].name if 0 <= number < len(buffers) else "an address"
    return f"uses {name}[{mine_at:,}] in place of [{other_at:,}]"
