"""Links the numbers of a launch that change together: extents, scalars, bounds of integers.

Equal extents count as one. A scalar that equals an extent, or a product of extents of one buffer,
changes with it. Where a number has two explanations, both must give the same new value; otherwise
the change is not made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from launch.fuzz.subject import FuzzedBuffer, Subject

Extents = Mapping[int, int]
"""New extents by the present ones."""
STRIDE = re.compile(r"stride|pitch|(?<![a-z])ld[a-z]?(?![a-z])", re.IGNORECASE)
"""Matches names of scalars that are strides."""
_SEED = re.compile("seed|philox", re.IGNORECASE)
_MAX_PARAMETER = 16
"""Numbers up to this may be unrelated to any extent: a width, a number of groups."""
_MAX_RATIO = 64


class NotCertain(ValueError):
    """The new value of a number cannot be derived; the message names the number."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The members of a launch that follow a change of extents."""

    integers: Mapping[str, int] = field(default_factory=dict)
    floats: Mapping[str, float] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    """The exclusive bounds of random integers, by buffer."""


class Links:
    """The links in one subject, found from its numbers and from names of strides."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @cached_property
    def extents(self) -> frozenset[int]:
        """Every extent above 1."""
        buffers = self._subject.buffers.values()
        return frozenset(extent for buffer in buffers for extent in buffer.shape if extent > 1)

    @cached_property
    def _products(self) -> dict[int, set[tuple[int, ...]]]:
        """Products of adjacent extents of a buffer, each with the extents that make it up."""
        products: dict[int, set[tuple[int, ...]]] = {}
        for buffer in self._subject.buffers.values():
            for factors in _runs(buffer.shape):
                products.setdefault(math.prod(factors), set()).add(tuple(sorted(factors)))
        return products

    @cached_property
    def _kept_strides(self) -> frozenset[int]:
        """Strides that do not follow from the shape, and so keep their values when it changes."""
        buffers = self._subject.buffers.values()
        return frozenset(
            stride for each in buffers if not each.is_contiguous for stride in each.strides
        )

    def scalars_of(self, extent: int) -> list[str]:
        """Return the scalars that give the length of an extent, alone or in a product."""
        integers = self._subject.integers.items()
        return [name for name, value in integers if extent in self._closure(value)]

    def is_derived(self, extent: int) -> bool:
        """Return True if an extent is a product of others, or the number of blocks in one."""
        return bool(self._products.get(extent)) or bool(self._quotients(extent))

    def is_explained(self, number: int) -> bool:
        """Return True if a number is an extent, a product of some, a stride or a block count."""
        is_known = number in self.extents or number in self._products
        return number <= 1 or is_known or number in self._kept_strides or number in self._counts

    def is_linked(self, name: str) -> bool:
        """Return True if a float is a length, its square root, or a reciprocal of these."""
        return bool(self._forms[name])

    def unexplained(self, extent: int) -> str | None:
        """Describe a number that may depend on `extent` in an unknown way; None without one."""
        blocks = set(self._subject.blocks.values())
        for name, value in self._subject.integers.items():
            known = self.is_explained(value) or value in blocks or _SEED.search(name)
            if not known and value > _MAX_PARAMETER and _are_related(value, extent, blocks):
                return f"{name} = {value} may depend on it"
        for other, name in self._free.items():
            if _are_related(other, extent, blocks):
                return f"{name} has an extent of {other}, which may depend on it"
        return None

    @cached_property
    def _free(self) -> dict[int, str]:
        """The extents without an explanation, each with a buffer that has it."""
        known = {*self._subject.blocks.values(), *self._subject.grid_literals}
        for value in self._subject.integers.values():
            known |= self._closure(value)
        buffers = self._subject.buffers.values()
        return {
            extent: buffer.name
            for buffer in buffers
            for extent in buffer.shape
            if extent > 1 and extent not in known and not self.is_derived(extent)
        }

    def divisor(self, extent: int) -> int:
        """Return the divisor that an extent must keep: small integer arguments that divide it."""
        numbers = self._subject.integers.values()
        small = [n for n in numbers if 1 < n <= _MAX_PARAMETER and not self.is_explained(n)]
        return math.lcm(*(n for n in small if extent % n == 0))

    def follow(self, extents: Extents) -> Moved:
        """Return all numbers that change with `extents`. Raises NotCertain."""
        key = tuple(sorted(extents.items()))
        if key not in self._followed:
            try:
                self._followed[key] = self._follow(_Moving(extents))
            except NotCertain as error:
                self._followed[key] = error
        followed = self._followed[key]
        if isinstance(followed, NotCertain):
            raise NotCertain(str(followed))
        return followed

    @cached_property
    def _followed(self) -> dict[tuple[tuple[int, int], ...], Moved | NotCertain]:
        return {}

    def _follow(self, moving: _Moving) -> Moved:
        subject = self._subject
        buffers = subject.buffers.values()
        integers = {name: self._moved(n, moving) for name, n in subject.integers.items()}
        floats = {name: self._moved_float(name, moving) for name in subject.floats}
        shapes = {each.name: tuple(self._moved(n, moving) for n in each.shape) for each in buffers}
        ends = {
            each.name: self._moved(each.init["high"], moving)
            for each in buffers
            if each.is_index_like and each.init and each.init["kind"] == "randint"
        }
        return Moved(
            {name: value for name, value in integers.items() if value != subject.integers[name]},
            {name: value for name, value in floats.items() if value != subject.floats[name]},
            {name: shape for name, shape in shapes.items() if shape != subject.buffers[name].shape},
            ends,
        )

    def _moved(self, number: int, moving: _Moving) -> int:
        """Return the new value of a number. Raises NotCertain if explanations disagree."""
        if number <= 1:
            return number
        if number not in moving.known:
            ends = self._ends(number, moving)
            if len(ends) > 1:
                raise NotCertain(f"{number} has several explanations that give different values")
            moving.known[number] = ends.pop() if ends else number
        return moving.known[number]

    def _ends(self, number: int, moving: _Moving) -> set[int]:
        """Return the distinct new values that the explanations of a number give."""
        ends = {
            math.prod(self._moved(factor, moving) for factor in factors)
            for factors in self._products.get(number, ())
        }
        if number in moving.extents:
            ends.add(moving.extents[number])
        elif not ends and number not in self._kept_strides:
            ends = {
                -(-self._moved(whole, moving) // block) for whole, block in self._quotients(number)
            }
            if ends and number not in self.extents and number <= _MAX_PARAMETER:
                ends.add(number)  # a small scalar may have another meaning than a number of blocks
        if number in self._kept_strides:
            ends.add(number)
        return ends

    def _moved_float(self, name: str, moving: _Moving) -> float:
        candidates = sorted({form(self._moved(whole, moving)) for whole, form in self._forms[name]})
        if any(not math.isclose(first, other) for first, other in pairwise(candidates)):
            raise NotCertain(f"{name} has several explanations that give different values")
        return candidates[0] if candidates else self._subject.floats[name]

    @cached_property
    def _forms(self) -> dict[str, list[tuple[int, Callable[[int], float]]]]:
        """The lengths that may explain each float, with the function that gives it."""
        lengths = sorted(self.extents | self._products.keys())
        return {
            name: [
                (whole, form)
                for whole in lengths
                for form in _FORMS
                if math.isclose(number, form(whole), rel_tol=1e-6)
            ]
            for name, number in self._subject.floats.items()
        }

    def _quotients(self, number: int) -> list[tuple[int, int]]:
        """Return the extents that consist of `number` blocks, each with its block length.

        Returns none if `number` is itself an extent that a scalar gives.
        """
        if number in self.extents and number in self._said:
            return []
        return self._counts.get(number, [])

    @cached_property
    def _said(self) -> frozenset[int]:
        return frozenset(self._subject.integers.values())

    @cached_property
    def _counts(self) -> dict[int, list[tuple[int, int]]]:
        """The extents that scalars give, each with its block length, by number of blocks."""
        counts: dict[int, list[tuple[int, int]]] = {}
        blocks = sorted(set(self._subject.blocks.values()))
        for whole in sorted(self.extents & self._said):
            for block in blocks:
                count = -(-whole // block)
                if whole > block and count > 1 and count not in blocks:
                    counts.setdefault(count, []).append((whole, block))
        return counts

    def _closure(self, number: int) -> set[int]:
        """Return the extents that make up a number, directly or through products."""
        if number not in self._closures:
            closure = {number} & self.extents
            for factors in self._products.get(number, ()):
                for factor in factors:
                    closure |= self._closure(factor) | {factor}
            self._closures[number] = closure
        return self._closures[number]

    @cached_property
    def _closures(self) -> dict[int, set[int]]:
        return {}


@dataclass(frozen=True, slots=True)
class _Moving:
    """Extents that change, and the new values of other numbers found so far."""

    extents: Extents
    known: dict[int, int] = field(default_factory=dict)


_FORMS: tuple[Callable[[int], float], ...] = (
    float,
    math.sqrt,
    lambda whole: 1.0 / whole if whole else math.inf,
    lambda whole: 1.0 / math.sqrt(whole) if whole else math.inf,
    lambda whole: 1.0 / (whole - 1) if whole > 1 else math.inf,
)


def _runs(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield each run of at least two extents above 1 of adjacent axes."""
    wide = tuple(extent for extent in shape if extent > 1)
    for start in range(len(wide)):
        for end in range(start + 2, len(wide) + 1):
            yield wide[start:end]


def _are_related(number: int, extent: int, blocks: Iterable[int]) -> bool:
    """Return True if a number differs from an extent but seems to be computed from it."""
    if number == extent:
        return False
    padded = {-(-extent // block) * block for block in blocks} | {next_power_of_2(extent)}
    if number in padded or abs(number - extent) <= _MAX_PARAMETER:
        return True
    small, large = sorted((number, extent))
    ratios = range(2, _MAX_RATIO + 1)
    return any(small in {large // ratio, -(-large // ratio)} for ratio in ratios)


def next_power_of_2(number: int) -> int:
    """Return the least power of 2 that is at least `number`, which is positive."""
    return 1 << (number - 1).bit_length()


def names_of(buffer: FuzzedBuffer, extent: int) -> Iterator[str]:
    """Yield the axes of a buffer that have this extent, such as `x_ptr[0]`."""
    for axis, own in enumerate(buffer.shape):
        if own == extent:
            yield f"{buffer.name}[{axis}]"
