"""Which numbers of a launch move together: extents, scalars, and the ends of random integers.

Equal extents are one; a scalar that equals one, or a product of those of a buffer, moves with it.
Where a number may be explained in two ways, both must come to the same, or nothing moves.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from launch.fuzz.subject import FuzzedBuffer, Subject

Extents = Mapping[int, int]
"""New extents by those that the launch has."""
STRIDE = re.compile(r"stride|pitch|(?<![a-z])ld[a-z]?(?![a-z])", re.IGNORECASE)
"""In names of scalars that are strides."""
_SEED = re.compile("seed|philox", re.IGNORECASE)
_LARGEST_PARAMETER = 16
"""What no extent is may be something else entirely, up to here: a width, a count of groups."""
_LARGEST_RATIO = 64


class NotCertain(ValueError):
    """It cannot be said what a number comes to when others move; the message says which."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a launch comes to with other extents; only what is not as it was."""

    integers: Mapping[str, int] = field(default_factory=dict)
    floats: Mapping[str, float] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    """Of random integers, exclusive, by buffer."""


class Links:
    """What is linked in one subject, from its numbers and from names that say `stride`."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject

    @cached_property
    def extents(self) -> frozenset[int]:
        """Every extent above 1."""
        buffers = self._subject.buffers.values()
        return frozenset(extent for buffer in buffers for extent in buffer.shape if extent > 1)

    @cached_property
    def _products(self) -> dict[int, set[tuple[int, ...]]]:
        """The extents whose product a number may be: of axes of a buffer that follow each other."""
        found: dict[int, set[tuple[int, ...]]] = {}
        for buffer in self._subject.buffers.values():
            for factors in _runs(buffer.shape):
                found.setdefault(math.prod(factors), set()).add(tuple(sorted(factors)))
        return found

    @cached_property
    def _kept_strides(self) -> frozenset[int]:
        """Strides that say nothing of the shape, and stay as they are when it changes."""
        buffers = self._subject.buffers.values()
        return frozenset(
            stride for each in buffers if not each.is_contiguous for stride in each.strides
        )

    def scalars_of(self, extent: int) -> list[str]:
        """Return the scalars that say how long an extent is, alone or in a product."""
        found = self._subject.integers.items()
        return [name for name, value in found if extent in self._closure(value)]

    def is_derived(self, extent: int) -> bool:
        """Whether an extent is a product of others, or how many blocks one of them has."""
        return bool(self._products.get(extent)) or bool(self._quotients(extent))

    def is_explained(self, number: int) -> bool:
        """Whether a number is known to be an extent, a product of some, or a stride."""
        known = self.extents | self._products.keys() | self._kept_strides
        return number <= 1 or number in known or bool(self._quotients(number))

    def is_linked(self, name: str) -> bool:
        """Whether a float is known to be a length, its root, or one divided by those."""
        number = self._subject.floats[name]
        known = self.extents | self._products.keys()
        return any(math.isclose(number, form(n), rel_tol=1e-6) for n in known for form in _FORMS)

    def unexplained(self, extent: int) -> str | None:
        """Return a number that may have to do with `extent`, and how is not known; None: none."""
        blocks, literals = set(self._subject.blocks.values()), self._subject.grid_literals
        for name, value in self._subject.integers.items():
            known = self.is_explained(value) or value in blocks or _SEED.search(name)
            if not known and value > _LARGEST_PARAMETER and _are_related(value, extent, blocks):
                return f"{name} = {value} may come from it"
        for buffer in self._subject.buffers.values():
            for other in buffer.shape:
                free = other not in blocks | literals and not self.scalars_of(other)
                if free and not self.is_derived(other) and _are_related(other, extent, blocks):
                    return f"{buffer.name} has an extent of {other}, which may come from it"
        return None

    def divisor(self, extent: int) -> int:
        """Return what an extent has to stay a multiple of: small integers that divide it."""
        numbers = self._subject.integers.values()
        small = [n for n in numbers if 1 < n <= _LARGEST_PARAMETER and not self.is_explained(n)]
        return math.lcm(*(n for n in small if extent % n == 0))

    def follow(self, extents: Extents) -> Moved:
        """Return what all numbers come to. Raises NotCertain."""
        subject = self._subject
        integers = {
            name: self._moved(value, extents, name) for name, value in subject.integers.items()
        }
        floats = {
            name: self._moved_float(value, extents, name) for name, value in subject.floats.items()
        }
        shapes = {
            buffer.name: tuple(self._moved(extent, extents, buffer.name) for extent in buffer.shape)
            for buffer in subject.buffers.values()
        }
        ends = {
            buffer.name: self._moved(buffer.init["high"], extents, buffer.name)
            for buffer in subject.buffers.values()
            if buffer.is_index_like and buffer.init and buffer.init["kind"] == "randint"
        }
        return Moved(
            {name: value for name, value in integers.items() if value != subject.integers[name]},
            {name: value for name, value in floats.items() if value != subject.floats[name]},
            {name: shape for name, shape in shapes.items() if shape != subject.buffers[name].shape},
            ends,
        )

    def _moved(self, number: int, extents: Extents, name: str) -> int:
        """Return what a number comes to: however it is explained, it must be the same."""
        if number <= 1:
            return number
        found = {
            math.prod(self._moved(factor, extents, name) for factor in factors)
            for factors in self._products.get(number, ())
        }
        if number in extents:
            found.add(extents[number])
        elif number in self.extents and not found:
            found |= {
                -(-self._moved(whole, extents, name) // block)
                for whole, block in self._quotients(number)
            }
        elif not found:
            found = self._of_blocks(number, extents, name)
        if number in self._kept_strides:
            found.add(number)
        if len(found) > 1:
            raise NotCertain(f"{name} = {number} could be several things")
        return found.pop() if found else number

    def _of_blocks(self, number: int, extents: Extents, name: str) -> set[int]:
        """Return what a scalar comes to that may count blocks; a small one need not do so."""
        if number in self._kept_strides:
            return set()
        found = {
            -(-self._moved(whole, extents, name) // block)
            for whole, block in self._quotients(number)
        }
        return found | {number} if found and number <= _LARGEST_PARAMETER else found

    def _moved_float(self, number: float, extents: Extents, name: str) -> float:
        """Return what a float comes to: it may be a length, its root, or one divided by those."""
        found = set()
        for whole in sorted(self.extents | self._products.keys()):
            for form in _FORMS:
                if math.isclose(number, form(whole), rel_tol=1e-6):
                    found.add(form(self._moved(whole, extents, name)))
        if len(found) > 1 and any(
            not math.isclose(one, other) for one, other in pairwise(sorted(found))
        ):
            raise NotCertain(f"{name} = {number:g} could be several things")
        return found.pop() if found else number

    def _quotients(self, number: int) -> list[tuple[int, int]]:
        """Return the extents that have `number` blocks, each with the length of a block.

        Not of an extent that a scalar says: that is one of its own.
        """
        if number <= 1:
            return []
        if number in self.extents and number in self._subject.integers.values():
            return []
        return self._quotients_of.setdefault(number, self._find_quotients(number))

    @cached_property
    def _quotients_of(self) -> dict[int, list[tuple[int, int]]]:
        return {}

    def _find_quotients(self, number: int) -> list[tuple[int, int]]:
        blocks = sorted(set(self._subject.blocks.values()))
        said = set(self._subject.integers.values())
        if number in blocks:
            return []
        return [
            (whole, block)
            for whole in sorted(self.extents)
            for block in blocks
            if whole in said and whole > block and -(-whole // block) == number
        ]

    def _closure(self, number: int) -> set[int]:
        """Return the extents that a number is made of."""
        found = {number} & self.extents
        for factors in self._products.get(number, ()):
            for factor in factors:
                found |= self._closure(factor) | {factor}
        return found


_FORMS = (
    float,
    math.sqrt,
    lambda whole: 1.0 / whole if whole else math.inf,
    lambda whole: 1.0 / math.sqrt(whole) if whole else math.inf,
    lambda whole: 1.0 / (whole - 1) if whole > 1 else math.inf,
)


def _runs(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the extents above 1 of axes that follow each other, two at least."""
    wide = tuple(extent for extent in shape if extent > 1)
    for start in range(len(wide)):
        for end in range(start + 2, len(wide) + 1):
            yield wide[start:end]


def _are_related(number: int, extent: int, blocks: Iterable[int]) -> bool:
    """Whether a number other than an extent looks as if it had been worked out from it."""
    if number == extent:
        return False
    padded = {-(-extent // block) * block for block in blocks} | {next_power_of_2(extent)}
    if number in padded or abs(number - extent) <= _LARGEST_PARAMETER:
        return True
    small, large = sorted((number, extent))
    ratios = range(2, _LARGEST_RATIO + 1)
    return any(small in {large // ratio, -(-large // ratio)} for ratio in ratios)


def next_power_of_2(number: int) -> int:
    """Return the least power of 2 that is no less than a number above 0."""
    return 1 << (number - 1).bit_length()


def names_of(buffer: FuzzedBuffer, extent: int) -> Iterator[str]:
    """Yield the axes of a buffer that are so long, as x_ptr[0]."""
    for axis, own in enumerate(buffer.shape):
        if own == extent:
            yield f"{buffer.name}[{axis}]"
