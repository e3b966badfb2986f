"""Accesses whose lanes are so far apart that a warp moves several times what it uses.

Reported only where TTGIR shows the distance of lanes: the layout has the elements they hold, the
steps of the addresses how far these are apart. All lanes count, and the base address is the best
that it can be. A stride that is a parameter is not 0.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.explain.affine_tensors import Affine, UniformNumber, Values, affine_values
from compiler.explain.ttgir import Place, TtgirModule, element_bytes, held_type
from compiler.ttir_to_numpy.ir import Operation

_POINTERS = {
    "tt.load": ("load", 0), "tt.store": ("store", 0), "ttg.async_copy_global_to_local": ("copy", 0),
}  # fmt: skip
"""The accesses by pointers, with the number of the operand that has these.

`tt.load %q : tensor<256x!tt.ptr<f32>, #b>`
"""
_OFFSETS = {"amdg.buffer_load": ("load", 0), "amdg.buffer_store": ("store", 1)}
"""The accesses by offsets, with the number of the operand that they count from; they follow it.

`amdg.buffer_store %value, %pointer[%offsets] : !tt.ptr<f32> -> tensor<256xf32, #b>`
"""
_WASTE = 2
"""A reported access touches at least this multiple of the sectors that its bytes need."""
Offset = tuple[int, ...]

_BLOCKED = re.compile(r"^#ttg\.blocked<\{(.*)\}>$")
_LINEAR = re.compile(r"^#ttg\.linear<\{(.*)\}>$")
_SLICE = re.compile(r"^#ttg\.slice<\{dim = (\d), parent = (#.+)\}>$")
_LIST = re.compile(r"(\w+) = \[([\d, ]*)\]")
_BASES = re.compile(r"(\w+) = \[((?:\[[\d, ]*\](?:, )?)*)\]")
_BASE = re.compile(r"\[([\d, ]*)\]")
_MAX_LANES = 64
"""Of a warp: AMD's of gfx9 have the most."""


@dataclass(frozen=True, slots=True)
class _LanePlaces:
    """Offsets into a tensor: of each lane's first element, and of how many neighbours it has.

    `run` is the number of elements along each dimension that a lane holds side by side.
    """

    offsets: tuple[Offset, ...]
    run: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Uncoalesced:
    """An access of a line, and how many bytes its first lane and the next one are apart.

    `apart_bytes` is None where only a divisor of it is known, `multiple_bytes`, for which the
    parameter `name` is the reason. A warp touches `sectors` of `sector_bytes`, where `needed`
    would hold what its lanes use.
    """

    place: Place | None
    kind: str
    lanes: int
    bytes_each: int
    apart_bytes: int | None
    multiple_bytes: int
    name: str | None
    sectors: int
    needed: int
    sector_bytes: int

    def __str__(self) -> str:
        """Return the finding in words."""
        far = f"{self.apart_bytes} bytes"
        if self.apart_bytes is None:
            far = f"a multiple of {self.multiple_bytes} bytes"
            far += f" (by {self.name})" if self.name else ""
        return (
            f"a {self.kind} of {self.bytes_each} bytes by each of {self.lanes} lanes, {far} apart: "
            f"{self.sectors} pieces of {self.sector_bytes} bytes, where {self.needed} would do"
        )


def uncoalesced(ttgir: TtgirModule, target: str) -> list[Uncoalesced]:
    """Return the accesses that are surely uncoalesced, without repetition of equal ones."""
    values = affine_values(ttgir.module)
    if values is None:
        return []
    sector_bytes = 32 if target.startswith("cuda") else 64  # what L2 and memory move at least
    accesses: dict[Uncoalesced, None] = {}
    for operation in ttgir.operations:
        for access in _uncoalesced_in(operation, values, ttgir, sector_bytes):
            accesses[access] = None
    return list(accesses)


def _uncoalesced_in(
    operation: Operation, values: Values, ttgir: TtgirModule, sector_bytes: int
) -> Iterator[Uncoalesced]:
    if operation.name in _POINTERS:
        kind, number = _POINTERS[operation.name]
        pointers = operation.operands[number]
        size, held = element_bytes(pointers.type), held_type(pointers.type)
        address = values.get(pointers)
    elif operation.name in _OFFSETS:
        kind, number = _OFFSETS[operation.name]
        base, offsets = operation.operands[number : number + 2]
        size, held = element_bytes(base.type), held_type(offsets.type)
        address = _scaled(values.get(offsets), size)
    else:
        return
    if address is None or size is None or held is None:
        return
    lanes = lane_places(held.layout, held.shape, ttgir.layouts)
    if lanes is None or len(address.steps) != len(held.shape):
        return
    place = ttgir.places.get(operation)
    yield from _judged(kind, address.steps, lanes, size, place, sector_bytes)


def _scaled(offsets: Affine | None, size: int | None) -> Affine | None:
    """Return offsets in bytes."""
    if offsets is None or size is None:
        return None
    return Affine(offsets.shared, tuple(step.times(UniformNumber(size)) for step in offsets.steps))


def _judged(
    kind: str,
    steps: Sequence[UniformNumber],
    lanes: _LanePlaces,
    size: int,
    place: Place | None,
    sector_bytes: int,
) -> Iterator[Uncoalesced]:
    varying = [d for d in range(len(steps)) if len({at[d] for at in lanes.offsets}) > 1]
    moving = [d for d in varying if steps[d].exact != 0]
    exact = [steps[d].exact for d in moving]
    each = size * max(
        (run for run, step in zip(lanes.run, steps, strict=True) if step.exact == size), default=1
    )
    if not moving:
        return
    if None not in exact:
        starts = [sum(at[d] * (steps[d].exact or 0) for d in moving) for at in lanes.offsets]
        multiple, name = 0, None
        bases = range(0, sector_bytes, size)
        touched = min(_touched([base + at for at in starts], each, sector_bytes) for base in bases)
    elif len(moving) == 1 and steps[moving[0]].divisor >= sector_bytes:
        starts = [at[moving[0]] for at in lanes.offsets]
        multiple, name = steps[moving[0]].divisor, steps[moving[0]].name
        touched = len(set(starts))
    else:
        return
    different = len(set(starts))
    needed = -(-different * each // sector_bytes)
    if touched < _WASTE * needed:
        return
    apart = abs(next(start for start in starts if start != starts[0]) - starts[0])
    yield Uncoalesced(
        place,
        kind,
        different,
        each,
        None if multiple else apart,
        multiple * apart,
        name,
        touched,
        needed,
        sector_bytes,
    )


def _touched(starts: Sequence[int], each: int, sector_bytes: int) -> int:
    bytes_of_each = (*range(0, each, sector_bytes), each - 1)
    return len({(start + byte) // sector_bytes for start in starts for byte in bytes_of_each})


def lane_places(
    layout: str, shape: tuple[int, ...], aliases: Mapping[str, str]
) -> _LanePlaces | None:
    """Return the places of a layout, None for kinds other than blocked, linear, slices of them."""
    text = aliases.get(layout, layout)
    if match := _SLICE.match(text):
        dim = int(match[1])
        whole = lane_places(match[2], (*shape[:dim], 1, *shape[dim:]), aliases)
        if whole is None:
            return None
        without = tuple((*offset[:dim], *offset[dim + 1 :]) for offset in whole.offsets)
        return _LanePlaces(without, (*whole.run[:dim], *whole.run[dim + 1 :]))
    if match := _BLOCKED.match(text):
        return _blocked_places(dict(_LIST.findall(match[1])), shape)
    if match := _LINEAR.match(text):
        return _linear_places(dict(_BASES.findall(match[1])), shape)
    return None


def _blocked_places(parameters: Mapping[str, str], shape: tuple[int, ...]) -> _LanePlaces | None:
    lists = {
        name: tuple(int(n) for n in text.split(",")) for name, text in parameters.items() if text
    }
    try:
        size, lanes, order = (lists[n] for n in ("sizePerThread", "threadsPerWarp", "order"))
    except KeyError:
        return None
    count = 1
    for extent in lanes:
        count *= extent
    if not len(size) == len(lanes) == len(order) == len(shape) or count > _MAX_LANES:
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
    return _LanePlaces(tuple(offsets), tuple(map(min, size, shape)))


def _linear_places(parameters: Mapping[str, str], shape: tuple[int, ...]) -> _LanePlaces | None:
    bases = {
        name: [tuple(int(n) for n in base.split(",")) for base in _BASE.findall(text)]
        for name, text in parameters.items()
    }
    lanes, registers = bases.get("lane"), bases.get("register")
    if lanes is None or registers is None or 1 << len(lanes) > _MAX_LANES:
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
    return _LanePlaces(tuple(offsets), tuple(run))


def _unit(dim: int, length: int, rank: int) -> Offset:
    return tuple(length if each == dim else 0 for each in range(rank))
