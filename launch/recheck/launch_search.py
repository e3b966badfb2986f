"""Finds launches that keep a contract: small ones, and ones near the ends of sizes and integers.

Names get values one after the other. A value is drawn from a pool, or solves a statement whose
other names have values already; a statement that fails takes the choice back. Drawing is by a fixed
seed, so the same contract has the same launches. It finds many launches, not all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType

from launch.recheck.contract_values import (
    GRID_LIMITS,
    ContractText,
    Illegal,
    LegalLaunch,
    Term,
    identifier,
)

_MAX_STEPS = 150
"""Values tried for one launch."""
_MAX_CANDIDATES = 12
"""Values tried for one name, with those that solve a statement."""
_SMALL = (*range(1, 10), 15, 16, 17)
_AROUND_ZERO = (-1, 0, 1, 2, -2, 3, -3, 5, -5, 7)
_MAX_GUESSES = 6
"""Turns that guess, before all others halve."""
_FULL = (1 << 31, 1 << 32)
"""The ends of integers of 32 bits, signed and unsigned."""


@dataclass(frozen=True)
class ScalarType:
    """The width of an integer argument."""

    bits: int

    @property
    def top(self) -> int:
        """Return the largest signed value."""
        return int((1 << (self.bits - 1)) - 1)


@dataclass(frozen=True)
class _Statement:
    """`low <= term <= high`; a comparison is 1, and its sides differ by `gap`."""

    term: Term
    low: int
    high: int
    gap: Term | None = None

    def number(self, names: Mapping[str, int]) -> int | None:
        """Return what decides whether the names keep the statement; None where it is Illegal."""
        try:
            return (self.term if self.gap is None else self.gap).value(names)
        except Illegal:
            return None

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest number that keeps the statement; 0 for a comparison."""
        return (self.low, self.high) if self.gap is None else (0, 0)

    def side(self, number: int | None) -> int:
        """Return -1, 0 or 1: on which side of the ends a number is; 2 for None."""
        low, high = self.ends
        return 2 if number is None else (number > high) - (number < low)

    def holds(self, names: Mapping[str, int]) -> bool:
        """Return whether the statement is kept."""
        try:
            return self.low <= self.term.value(names) <= self.high
        except Illegal:
            return False


@dataclass
class LaunchSearch:
    """The launches of one kernel that keep its contract.

    `scalars` are the integer arguments by name, `element_bits` the buffers with the width of their
    integers, 0 for others. `numbers` are further sizes of interest: the kernel's own constants.
    """

    contract: ContractText
    scalars: Mapping[str, ScalarType]
    element_bits: Mapping[str, int]
    constants: Mapping[str, int]
    numbers: frozenset[int]
    most_size: int
    most_elements: int
    allows_empty_grid: bool = False
    _known: dict[str, int] = field(init=False)
    _free: dict[str, tuple[int, int]] = field(init=False)
    _ends: list[tuple[str, int, int]] = field(init=False)
    """The ends of the types of all scalars."""
    _statements: list[_Statement] = field(init=False)
    _deciding: dict[str, list[_Statement]] = field(init=False)
    """The statements that the value of a name may decide."""
    _divisors: list[Term] = field(init=False)

    def __post_init__(self) -> None:
        contract = self.contract
        scalars = {identifier(name): kind for name, kind in self.scalars.items()}
        self._ends = [(name, -kind.top - 1, kind.top) for name, kind in scalars.items()]
        known = {identifier(name): value for name, value in self.constants.items()}
        self._known = {name: value for name, value in known.items() if name not in scalars}
        self._free = {}
        for name, kind in scalars.items():
            if name in contract.fixed:
                continue
            top = kind.top
            is_any = name in contract.anything
            self._free[name] = (-top - 1, top) if is_any else (1, min(top, self.most_size))
        for name in contract.sizes:
            self._free[name] = 1, self.most_size
        self._statements = [
            _Statement(relation.holds, 1, 1, relation.gap) for relation in contract.relations
        ]
        self._statements += [
            _Statement(extent, 0, self.most_elements) for extent in contract.extents.values()
        ]
        least = 0 if self.allows_empty_grid else 1
        self._statements += [
            _Statement(least_programs, least, most)
            for least_programs, most in zip(contract.grid, GRID_LIMITS, strict=False)
        ]
        self._deciding = {name: self._statements_with(name) for name in self._free}
        ranges = [end for range_ in contract.values.values() for end in (range_.low, range_.high)]
        fixed = list(contract.fixed.values())
        relations = [relation.holds for relation in contract.relations]
        every = [*relations, *contract.extents.values(), *contract.grid, *ranges, *fixed]
        self._divisors = [divisor for term in every for divisor in term.divisors]

    def launches(
        self, left: Mapping[bool, int] = MappingProxyType({False: 1, True: 1})
    ) -> Iterator[tuple[bool, LegalLaunch]]:
        """Yield launches without end, small and large ones in turn; True for a large one.

        `left` are the numbers of both that are wanted.
        """
        rng = random.Random(repr(sorted(self._free.items())))  # noqa: S311 - not for secrets
        seen: set[tuple[int, ...]] = set()
        for turn in count():
            is_large = turn % 5 in (1, 3)
            if not left[is_large]:
                continue
            names = self._searched(rng, is_large, turn)
            key = tuple(names[name] for name in self._free) if names is not None else ()
            if names is None or key in seen:
                yield is_large, _NONE
                continue
            seen.add(key)
            launch = self._launch(names)
            yield is_large, _NONE if launch is None else launch

    def joining(self, names: Mapping[str, int]) -> LegalLaunch | None:
        """Return a launch with the given scalars and sizes, as far as the contract has them."""
        known = {name: value for name, value in names.items() if name in self._free}
        order = [name for name in self._free if name not in known]
        rng = random.Random(repr(sorted(names.items())))  # noqa: S311 - not for secrets
        assigned = self._assigned({**self._known, **known}, order, set(), rng, [_MAX_STEPS])
        return None if assigned is None else self._launch(assigned)

    def at(self, names: Mapping[str, int]) -> LegalLaunch | None:
        """Return the launch at values of scalars and sizes, None where it breaks the contract."""
        values = self._with_fixed({**self._known, **names})
        if values is None or not all(statement.holds(values) for statement in self._statements):
            return None
        return self._launch(values)

    def _searched(self, rng: random.Random, is_large: bool, turn: int) -> dict[str, int] | None:
        order = list(self._free)
        rng.shuffle(order)
        # of many sizes, a few are large at a time: loops of all others are short
        chosen = set(order if turn % 3 == 0 else order[: 1 + turn % 2]) if is_large else set()
        steps = [_MAX_STEPS]
        # those of the pool last: they may be what a statement leaves open
        return self._assigned(dict(self._known), order, chosen, rng, steps)

    def _assigned(
        self,
        names: dict[str, int],
        order: Sequence[str],
        large: set[str],
        rng: random.Random,
        steps: list[int],
        last: str = "",
    ) -> dict[str, int] | None:
        whole = self._with_fixed(names)
        if whole is None or not self._may_hold(whole, last):
            return None
        if not order:
            return whole if self._may_hold(whole, "") else None
        name, *rest = order
        for value in self._candidates(name, whole, name in large, rng):
            steps[0] -= 1
            if steps[0] < 0:
                return None
            assigned = self._assigned({**names, name: value}, rest, large, rng, steps, name)
            if assigned is not None:
                return assigned
        return None

    def _with_fixed(self, names: dict[str, int]) -> dict[str, int] | None:
        """Return the names with those that follow from them, None where a value is impossible."""
        whole = dict(names)
        for name, term in self.contract.fixed.items():
            if term.names <= whole.keys():
                try:
                    value = term.value(whole)
                except Illegal:
                    return None
                if name in self._known:
                    if value != self._known[name]:
                        return None
                    continue
                whole[name] = value
        return (
            whole
            if all(low <= whole.get(name, 0) <= top for name, low, top in self._ends)
            else None
        )

    def _may_hold(self, names: Mapping[str, int], last: str) -> bool:
        """Return whether no statement whose names all have values fails.

        Those without the `last` name, and without what follows from it, have been tried before.
        """
        statements = self._deciding.get(last, self._statements)
        return all(
            statement.holds(names)
            for statement in statements
            if statement.term.names <= names.keys()
        )

    def _statements_with(self, name: str) -> list[_Statement]:
        affected = {name}
        for fixed, term in self.contract.fixed.items():
            if term.names & affected:
                affected.add(fixed)
        return [statement for statement in self._statements if statement.term.names & affected]

    def _candidates(
        self, name: str, names: Mapping[str, int], is_large: bool, rng: random.Random
    ) -> Iterator[int]:
        """Yield values to try: some of the pool first, then those that solve a statement."""
        low, high = self._free[name]
        drawn = self._large(names, low, high, rng) if is_large else self._small(low, rng)
        rng.shuffle(drawn)
        factors = self._factors(names)
        factor = rng.choice(factors) if factors else 1
        tried: set[int] = set()
        for value in self._in_order(name, names, drawn, factor):
            if low <= value <= high and value not in tried:
                tried.add(value)
                yield value

    def _in_order(
        self, name: str, names: Mapping[str, int], drawn: list[int], factor: int
    ) -> Iterator[int]:
        first, rest = drawn[:3], drawn[3:_MAX_CANDIDATES]
        if factor > 1:
            yield from (value - value % factor for value in first)
        yield from first
        solving = self._solving(name, names, drawn[0])  # only here, as it takes long
        if factor > 1:
            yield from (value - value % factor for value in solving[:1])
        yield from (*solving, *rest)
        if factor > 1:
            yield factor
            yield from (value - value % factor for value in (*solving[1:], *rest))
        yield from range(1, 5)

    def _small(self, low: int, rng: random.Random) -> list[int]:
        around = [value + by for value in sorted(self.numbers) for by in (-1, 0, 1)]
        own = rng.sample(around, min(len(around), 4))
        # some names are much smaller than the others
        pool = [1, 2, 3, 4] if rng.random() < 1 / 3 else rng.sample(_SMALL, 6) + own
        pool += [rng.randint(1, 40), rng.randint(1, 300)]
        return pool + rng.sample(_AROUND_ZERO, 6) if low < 1 else pool

    def _large(
        self, names: Mapping[str, int], low: int, high: int, rng: random.Random
    ) -> list[int]:
        """Return ends of the type, and values whose products with others pass its end."""
        sizes = {abs(value) for value in (*names.values(), *self.numbers) if abs(value) > 1}
        factors = sorted(sizes, reverse=True)
        values = [high, high, high - 1, rng.randint(max(low, 1), high), 46_340, 46_341, 65_536]
        values += [low, low + 1, -46_341] if low < 1 else []
        for end in _FULL:
            for wanted in (1, 1, 2):
                product = 1
                for place in range(min(wanted, len(factors))):
                    # the largest ones first, as products of them pass the end
                    skipped = min(int(rng.expovariate(1)), len(factors) - 1 - place)
                    product *= factors[place + skipped]
                values += [end // product + by for by in (-1, 0, 1)]
        values.append(1 << rng.randint(8, max(9, high.bit_length() - 1)))
        return values

    def _factors(self, names: Mapping[str, int]) -> list[int]:
        """Return what the contract divides by, as far as it is known."""
        factors = []
        for divisor in self._divisors:
            if divisor.names <= names.keys():
                try:
                    factors.append(divisor.value(names))
                except Illegal:
                    continue
        return [value for value in factors if value > 1]

    def _solving(self, name: str, names: Mapping[str, int], start: int) -> list[int]:
        """Return values at which a statement in which only `name` is open is just kept."""
        values: list[int] = []
        for statement in self._statements:
            term = statement.term
            if name in term.names and term.names <= names.keys() | {name}:
                values += _crossings(statement, name, names, self._free[name], start)
        return [value + by for value in values for by in (0, 1, -1)]

    def _launch(self, names: Mapping[str, int]) -> LegalLaunch | None:
        contract = self.contract
        try:
            extents = {
                name: term.value(names)
                for name in self.element_bits
                if (term := contract.extents.get(identifier(name))) is not None
            }
            ranges = {}
            for name, bits in self.element_bits.items():
                ends = contract.values.get(identifier(name))
                if ends is None:
                    continue
                within = _range_within(ends.low.value(names), ends.high.value(names), bits)
                if not within and extents.get(name, 1) > 0:
                    return None  # no buffer holds such values
                ranges[name] = within or range(1)
            sides = [term.value(names) for term in contract.grid]
        except Illegal:
            return None
        if min(sides) < 1:
            sides = [0, 0, 0]
        width, height, depth = (*sides, 1, 1)[:3]
        return LegalLaunch(
            {name: names[identifier(name)] for name in self.scalars},
            {name.removeprefix("v_"): names[name] for name in contract.sizes},
            extents,
            ranges,
            (width, height, depth),
        )


_NONE = LegalLaunch({}, {}, {}, {}, (0, 0, 0))
"""Stands for a search that ended without a launch, so that its cost can be counted."""


def is_none(launch: LegalLaunch) -> bool:
    """Return whether a search ended without a launch."""
    return launch is _NONE


def _range_within(low: int, high: int, bits: int) -> range:
    """Return the part of a range that integers of a width can hold; unsigned ones hold more."""
    if not bits:
        return range(low, high)
    return range(max(low, -(1 << (bits - 1))), min(high, 1 << bits))


def _crossings(
    statement: _Statement,
    name: str,
    names: Mapping[str, int],
    ends: tuple[int, int],
    start: int,
) -> list[int]:
    """Return values of `name` next to which a statement changes sides."""
    low, high = ends
    start = min(max(start, low), high)
    crossings: list[int] = []
    values = dict(names)

    def number(value: int) -> int | None:
        values[name] = value
        return statement.number(values)

    of_start = number(start)
    for end in (low, high):
        of_end = number(end)
        if statement.side(of_end) != statement.side(of_start):
            crossings += _crossing(statement, number, (end, start), (of_end, of_start))
    return crossings


def _crossing(
    statement: _Statement,
    number: Callable[[int], int | None],
    ends: tuple[int, int],
    of_ends: tuple[int | None, int | None],
) -> tuple[int, int]:
    """Return two neighbours between which a statement changes sides, as it does between `ends`.

    Most numbers grow evenly: so the place is guessed by proportion at first.
    """
    (a, b), (of_a, of_b) = ends, of_ends
    first = statement.side(of_a)
    low, high = statement.ends
    target = low - 1 if first < 0 else high + 1 if first > 0 else high
    for turn in count():
        if abs(b - a) <= 1:
            break
        middle = (a + b) // 2
        if turn < _MAX_GUESSES and of_a is not None and of_b is not None and of_a != of_b:
            guess = a + (target - of_a) * (b - a) // (of_b - of_a)
            by = turn % 2 if b > a else -(turn % 2)
            middle = min(max(guess + by, min(a, b) + 1), max(a, b) - 1)
        made = number(middle)
        if statement.side(made) == first:
            a, of_a = middle, made
        else:
            b, of_b = middle, made
    return a, b
