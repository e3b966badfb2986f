"""Infers a contract from launches that are right: what was equal in all of them.

Needs two or three whose sizes differ; distinct primes tell all apart. What it infers is a
conjecture, so it is shown; what was seen of one size is marked with `only`. Products and quotients
are looked up by their values, never found by trying pairs, and every inference has a budget of
steps: it runs before the queue, for anyone.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from launch.contract.guesses import MARK
from launch.contract.text import MAX_CHARACTERS

Values = tuple[int, ...]
"""One number for each case."""
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_MAX_ATOMS = 24
_MAX_FACTOR = 8
_MAX_BITS = 64
_MAX_STEPS = 16_000
"""Numbers that one inference may compute: at most 10 ms of CPU."""
_STEPS_OF_A_QUANTITY = 8
"""The cost of naming a quantity, besides reading its numbers."""


@dataclass(frozen=True)
class CaseBuffer:
    """A buffer of a case; without strides it is contiguous."""

    shape: Sequence[int]
    strides: Sequence[int] | None = None


@dataclass(frozen=True)
class InferenceCase:
    """Buffers and integer scalars by name, and the grid."""

    buffers: Mapping[str, CaseBuffer]
    scalars: Mapping[str, int]
    grid: Sequence[int]


class NotInferable(Exception):
    """The cases do not fit together; the message explains how."""


def inferred_contract(cases: Sequence[InferenceCase], constants: Mapping[str, int]) -> str:
    """Return the contract's text. Raises NotInferable."""
    _check(cases)
    known = _Constants(constants, len(cases))
    text = _Inference(cases, known, _Steps(_MAX_STEPS)).text()
    if len(text) > MAX_CHARACTERS:
        raise NotInferable(
            f"not inferred: the contract would have more than {MAX_CHARACTERS:,} characters"
        )
    return text


def _check(cases: Sequence[InferenceCase]) -> None:
    first = cases[0]
    for number, case in enumerate(cases):
        for kind, own, others in (
            ("buffer", case.buffers, first.buffers),
            ("integer", case.scalars, first.scalars),
        ):
            for name in sorted(own.keys() ^ others.keys()):
                having, other = (0, number) if name in others else (number, 0)
                raise NotInferable(
                    f"cases/{having} has the {kind} {name}, and cases/{other} has none"
                )
        if len(case.grid) != len(first.grid):
            raise NotInferable(
                f"cases/{number} has a grid with another number of axes than cases/0"
            )
        for name, buffer in case.buffers.items():
            if len(buffer.shape) != len(first.buffers[name].shape):
                raise NotInferable(f"{name} has another rank in cases/{number} than in cases/0")


class _Steps:
    """The budget of one inference."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, count: int) -> None:
        """Count numbers to be computed. Raises NotInferable beyond the budget."""
        self._left -= count
        if self._left < 0:
            raise NotInferable(
                "not inferred: too many sizes; give fewer cases, arguments or constexprs, or post "
                "a proof with a `contract`"
            )


class _Constants:
    """The integer constexprs, by name and by value. No size equals one of more than 64 bits."""

    def __init__(self, values: Mapping[str, int], cases: int) -> None:
        small = {n: v for n, v in values.items() if v.bit_length() <= _MAX_BITS}
        self.names: dict[int, str] = {}
        """The first name of each value."""
        for name, value in small.items():
            self.names.setdefault(value, name)
        self.blocks = [(name, value) for name, value in small.items() if value > 1]
        self.by_values = {(value,) * cases: name for name, value in self.blocks}

    def name_of(self, values: Values) -> str:
        """Return the constexpr that a quantity always equals, "" where there is none."""
        is_one = values[0] > 1 and len(set(values)) == 1
        return self.names.get(values[0], "") if is_one else ""


@dataclass
class _Inference:
    cases: Sequence[InferenceCase]
    constants: _Constants
    steps: _Steps
    symbols: dict[Values, str] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    large: dict[Values, str] = field(default_factory=dict)
    """The symbols that are above 1 in some case."""
    order: dict[Values, int] = field(default_factory=dict)
    """The position of each symbol, in the order in which they became known."""

    def text(self) -> str:
        """Return the contract."""
        scalars = {name: self._scalar(name) for name in self.cases[0].scalars}
        for name, values in scalars.items():
            if max(value.bit_length() for value in values) > _MAX_BITS:
                raise NotInferable(f"{name} is beyond {_MAX_BITS} bits")
            self._add(values, name)
        extents = [self._extent(name) for name in self.cases[0].buffers]
        # what a product is made of must be known before it
        order = sorted(
            scalars.items(), key=lambda item: (item[1], self.symbols[item[1]] != item[0])
        )
        fixed = {name: line for name, values in order if (line := self._fixed(name, values))}
        any_names = [name for name, values in scalars.items() if min(values) < 1]
        grid = [self._axis(axis) for axis in range(len(self.cases[0].grid))]
        named = {n for line in (*extents, *grid, *fixed.values()) for n in _NAME.findall(line)}
        pitches = self._pitches()
        bounds = [
            f"{name} <= {pitch}"
            for name, values in scalars.items()
            if name not in named and (pitch := self._pitch(values, pitches))
        ]
        head = [f"sizes {' '.join(self.sizes)}"] if self.sizes else []
        head += [f"any {' '.join(any_names)}"] if any_names else []
        lines = [*extents, f"grid: {', '.join(grid)}"]
        by_chance = {
            name for name in fixed if scalars[name][0] > 1 and len(set(scalars[name])) == 1
        }
        if not by_chance and self._has_one_size():
            by_chance, lines = set(fixed), [MARK + line for line in lines]
        same = [(MARK if name in by_chance else "") + line for name, line in fixed.items()]
        return "\n".join([*head, *same, *lines[:-1], *bounds, lines[-1]]) + "\n"

    def _has_one_size(self) -> bool:
        """Return whether all buffers and grids are the same in all cases."""
        first = self.cases[0]
        return all(
            list(case.grid) == list(first.grid)
            and all(list(b.shape) == list(first.buffers[n].shape) for n, b in case.buffers.items())
            for case in self.cases
        )

    def _scalar(self, name: str) -> Values:
        return self._each(lambda case: case.scalars[name])

    def _each(self, value: Callable[[InferenceCase], int]) -> Values:
        self.steps.take(len(self.cases) + _STEPS_OF_A_QUANTITY)
        return tuple(map(value, self.cases))

    def _add(self, values: Values, name: str) -> None:
        if values not in self.symbols:
            self.order[values] = len(self.symbols)
            self.symbols[values] = name
            if max(values) > 1:
                self.large[values] = name

    def _extent(self, name: str) -> str:
        first = self.cases[0].buffers[name]
        axes = range(len(first.shape))
        lengths = [self._named(self._shape(name, a), f"{name}_{a}") for a in axes]
        if all(case.buffers[name].strides is None for case in self.cases):
            return f"{name}: {' * '.join(length for length in lengths if length != '1') or 1}"
        steps = [self._named(self._stride(name, a), f"{name}_stride_{a}") for a in axes]
        parts = [f"({n} - 1) * {s}" for n, s in zip(lengths, steps, strict=True)]
        return f"{name}: {' + '.join(parts)} + 1"

    def _pitches(self) -> list[Values]:
        """Return the lengths of buffers' last axes that are symbols, in ascending order."""
        buffers = self.cases[0].buffers
        last = {
            self._shape(name, len(buffer.shape) - 1)
            for name, buffer in buffers.items()
            if buffer.shape
        }
        return sorted(last & self.symbols.keys())

    def _pitch(self, values: Values, pitches: Sequence[Values]) -> str:
        """Return the length of a buffer's last axis that was never exceeded, "" if there is none.

        A scalar that no extent names, such as a number of columns, must be bounded by something.
        """
        if min(values) < 1 or len(set(values)) == 1:
            return ""
        for pitch in pitches:
            self.steps.take(len(values))
            if all(value <= limit for value, limit in zip(values, pitch, strict=True)):
                return self.symbols[pitch]
        return ""

    def _shape(self, name: str, axis: int) -> Values:
        return self._each(lambda case: case.buffers[name].shape[axis])

    def _stride(self, name: str, axis: int) -> Values:
        def of(case: InferenceCase) -> int:
            buffer = case.buffers[name]
            if buffer.strides is not None:
                return buffer.strides[axis]
            return math.prod(buffer.shape[axis + 1 :])

        return self._each(of)

    def _named(self, values: Values, hint: str) -> str:
        """Return a quantity: a constexpr or a number, a scalar that was equal, or a new size."""
        if values in self.symbols:
            return self.symbols[values]
        if len(set(values)) == 1 and (values[0] < 2 or values[0] in self.constants.names):
            return self.constants.name_of(values) or str(values[0])
        if multiple := self._multiple(values, self.symbols):
            return multiple
        self._add(values, hint)
        self.sizes.append(hint)
        return hint

    def _multiple(self, values: Values, symbols: Mapping[Values, str]) -> str:
        """Return a few times a quantity that varied, "" where there is none.

        Where there are several, the one that became known first.
        """
        if values[0] < 2 or len(set(values)) == 1:
            return ""
        multiples = []
        for factor in range(2, _MAX_FACTOR + 1):
            if values[0] % factor or any(value % factor for value in values):
                continue
            self.steps.take(len(values))
            known = tuple(value // factor for value in values)
            if known in symbols:
                multiples.append((self.order[known], f"{factor} * {symbols[known]}"))
        return min(multiples, default=(0, ""))[1]

    def _atoms(self, without: str) -> dict[Values, str]:
        """Return known quantities by their values: symbols, and constexprs above 1."""
        constant = self.constants.by_values
        known = itertools.chain(
            ((v, constant.get(v, n)) for v, n in self.large.items() if n != without),
            constant.items(),
        )
        return _first_of(known, _MAX_ATOMS)

    def _fixed(self, name: str, values: Values) -> str:
        """Return what a scalar always equals, "" where nothing is seen."""
        if same := self.constants.name_of(values):
            return f"{name} = {same}"
        if self.symbols[values] != name:
            return f"{name} = {self.symbols[values]}"
        atoms = self._atoms(name)
        text = self._multiple(values, atoms) or self._product(values, atoms)
        return f"{name} = {text}" if text else ""

    def _axis(self, axis: int) -> str:
        values = self._each(lambda case: case.grid[axis])
        if set(values) == {1}:
            return "1"
        if values in self.symbols:
            return self.symbols[values]
        text = self._tiles(values) or self._product(values, self._atoms(""))
        return text or self._named(values, f"grid_{axis}")

    def _tiles(self, values: Values) -> str:
        """Return `cdiv(size, CONSTANT)`, or a product of two, with these values.

        Of the quotients only the factors of `values` matter, and the other factor of each is known.
        """
        factors: dict[Values, str] = {}
        for size, name in itertools.islice(self.symbols.items(), _MAX_ATOMS):
            for block_name, block in self.constants.blocks:
                self.steps.take(1)
                first = -(-size[0] // block)
                if first == 0 or values[0] % first:
                    continue
                self.steps.take(len(values))
                quotient = tuple(-(-each // block) for each in size)
                factors[quotient] = f"cdiv({name}, {block_name})"
        if values in factors:
            return factors[values]
        for tile, text in factors.items():
            self.steps.take(1)
            other = _divided(values, tile)
            if other is not None and other != tile and other in factors:
                return f"{text} * {factors[other]}"
        return ""

    def _product(self, values: Values, atoms: Mapping[Values, str]) -> str:
        """Return a product of two or three known quantities with these values, "" for none."""
        zeros = [at for at, value in enumerate(values) if value == 0]
        if any(all(atom[at] for atom in atoms) for at in zeros):
            return ""
        # where the product is 0, all factors but one may be anything
        decided = [at for at, value in enumerate(values) if value]
        product = _part(values, decided)
        self.steps.take(2 * len(atoms) if zeros else len(atoms))
        parts = {atom: _part(atom, decided) if zeros else atom for atom in atoms}
        lasts: dict[Values, list[Values]] = {}
        for atom, part in parts.items():
            lasts.setdefault(part, []).append(atom)
        firsts = [
            atom
            for atom, part in parts.items()
            if not part or (part[0] and not product[0] % part[0] and _divided(product, part))
        ]
        for count in (1, 2):
            for first in itertools.combinations_with_replacement(firsts, count):
                self.steps.take(len(values))
                left: Values | None = product
                for atom in first:
                    left = None if left is None else _divided(left, parts[atom])
                for last in lasts.get(left, ()) if left is not None else ():
                    self.steps.take(1)
                    factors = (*first, last)
                    if all(any(factor[at] == 0 for factor in factors) for at in zeros):
                        return " * ".join(atoms[factor] for factor in factors)
        return ""


def _part(values: Values, at: Sequence[int]) -> Values:
    return tuple(values[each] for each in at)


def _divided(values: Values, by: Values) -> Values | None:
    """Return exact quotients, None where there are none."""
    quotients = []
    for value, divisor in zip(values, by, strict=True):
        if divisor == 0 or value % divisor:
            return None
        quotients.append(value // divisor)
    return tuple(quotients)


def _first_of(items: Iterable[tuple[Values, str]], most: int) -> dict[Values, str]:
    """Return the first items with different values."""
    texts: dict[Values, str] = {}
    for values, text in items:
        texts.setdefault(values, text)
        if len(texts) == most:
            break
    return texts
