"""The elements that the lanes of a warp hold, for layouts whose text alone says it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

Offset = tuple[int, ...]

_BLOCKED = re.compile(r"^#ttg\.blocked<\{(.*)\}>$")
_LINEAR = re.compile(r"^#ttg\.linear<\{(.*)\}>$")
_SLICE = re.compile(r"^#ttg\.slice<\{dim = (\d), parent = (#.+)\}>$")
_LIST = re.compile(r"(\w+) = \[([\d, ]*)\]")
_BASES = re.compile(r"(\w+) = \[((?:\[[\d, ]*\](?:, )?)*)\]")
_BASE = re.compile(r"\[([\d, ]*)\]")
_MOST_LANES = 64


@dataclass(frozen=True, slots=True)
class LanePlaces:
    """Offsets into a tensor: of each lane's first element, and of how many neighbours it has.

    `run` is the number of elements along each dimension that a lane holds side by side.
    """

    offsets: tuple[Offset, ...]
    run: tuple[int, ...]


def lane_places(
    layout: str, shape: tuple[int, ...], aliases: Mapping[str, str]
) -> LanePlaces | None:
    """Return the places of a layout, None for kinds other than blocked, linear, slices of them."""
    text = aliases.get(layout, layout)
    if match := _SLICE.match(text):
        dim = int(match[1])
        whole = lane_places(match[2], (*shape[:dim], 1, *shape[dim:]), aliases)
        if whole is None:
            return None
        without = tuple((*offset[:dim], *offset[dim + 1 :]) for offset in whole.offsets)
        return LanePlaces(without, (*whole.run[:dim], *whole.run[dim + 1 :]))
    if match := _BLOCKED.match(text):
        return _of_blocked(dict(_LIST.findall(match[1])), shape)
    if match := _LINEAR.match(text):
        return _of_linear(dict(_BASES.findall(match[1])), shape)
    return None


def _of_blocked(given: Mapping[str, str], shape: tuple[int, ...]) -> LanePlaces | None:
    lists = {name: tuple(int(n) for n in text.split(",")) for name, text in given.items() if text}
    try:
        size, lanes, order = (lists[n] for n in ("sizePerThread", "threadsPerWarp", "order"))
    except KeyError:
        return None
    count = 1
    for extent in lanes:
        count *= extent
    if not len(size) == len(lanes) == len(order) == len(shape) or count > _MOST_LANES:
        return None
    offsets = []
    for lane in range(count):
        place = [0] * len(shape)
        left = lane
        for dim in order:
            # what is larger than the tensor begins again
            place[dim] = left % lanes[dim] * size[dim] % shape[dim]
            left //= lanes[dim]
        offsets.append(tuple(place))
    return LanePlaces(tuple(offsets), tuple(map(min, size, shape)))


def _of_linear(given: Mapping[str, str], shape: tuple[int, ...]) -> LanePlaces | None:
    bases = {
        name: [tuple(int(n) for n in base.split(",")) for base in _BASE.findall(text)]
        for name, text in given.items()
    }
    lanes, registers = bases.get("lane"), bases.get("register")
    if lanes is None or registers is None or 1 << len(lanes) > _MOST_LANES:
        return None
    if any(len(base) != len(shape) for base in (*lanes, *registers)):
        return None
    offsets = [(0,) * len(shape)]
    for base in lanes:
        held = tuple(part % extent for part, extent in zip(base, shape, strict=True))
        offsets += [tuple(a ^ b for a, b in zip(place, held, strict=True)) for place in offsets]
    run = [1] * len(shape)
    for dim in range(len(shape)):
        while run[dim] < shape[dim] and _unit(dim, run[dim], len(shape)) in registers:
            run[dim] *= 2
    return LanePlaces(tuple(offsets), tuple(run))


def _unit(dim: int, length: int, rank: int) -> Offset:
    return tuple(length if each == dim else 0 for each in range(rank))
