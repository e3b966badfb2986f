"""Infers a contract from launches that are right: what was equal in all of them.

Needs two or three whose sizes differ; distinct primes tell all apart. What it infers is a
conjecture, so it is shown.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Values = tuple[int, ...]
"""One number for each case."""
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_MOST_FACTORS = 3
_MOST_ATOMS = 24
_LARGEST_FACTOR = 8


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
    """The cases do not fit together; the message says how."""


def inferred_contract(cases: Sequence[InferenceCase], constants: Mapping[str, int]) -> str:
    """Return the contract's text. Raises NotInferable."""
    _check(cases)
    return _Inference(cases, constants).text()


def _check(cases: Sequence[InferenceCase]) -> None:
    first = cases[0]
    for number, case in enumerate(cases):
        for kind, own, others in (
            ("buffer", case.buffers, first.buffers),
            ("integer", case.scalars, first.scalars),
        ):
            for name in sorted(own.keys() ^ others.keys()):
                one, other = (0, number) if name in others else (number, 0)
                raise NotInferable(f"cases/{one} has the {kind} {name}, and cases/{other} has none")
        if len(case.grid) != len(first.grid):
            raise NotInferable(
                f"cases/{number} has a grid with another number of axes than cases/0"
            )
        for name, buffer in case.buffers.items():
            if len(buffer.shape) != len(first.buffers[name].shape):
                raise NotInferable(f"{name} has another rank in cases/{number} than in cases/0")


@dataclass
class _Inference:
    cases: Sequence[InferenceCase]
    constants: Mapping[str, int]
    symbols: dict[Values, str] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the contract."""
        scalars = {
            name: tuple(case.scalars[name] for case in self.cases) for name in self.cases[0].scalars
        }
        for name, values in scalars.items():
            self.symbols.setdefault(values, name)
        extents = [self._extent(name) for name in self.cases[0].buffers]
        # what a product is made of must be known before it
        order = sorted(
            scalars.items(), key=lambda item: (item[1], self.symbols[item[1]] != item[0])
        )
        fixed = [line for name, values in order if (line := self._fixed(name, values))]
        any_names = [name for name, values in scalars.items() if min(values) < 1]
        grid = [self._axis(axis) for axis in range(len(self.cases[0].grid))]
        said = {name for line in (*extents, *grid, *fixed) for name in _NAME.findall(line)}
        bounds = [
            f"{name} <= {pitch}"
            for name, values in scalars.items()
            if name not in said and (pitch := self._pitch(values))
        ]
        head = [f"sizes {' '.join(self.sizes)}"] if self.sizes else []
        head += [f"any {' '.join(any_names)}"] if any_names else []
        return "\n".join([*head, *fixed, *extents, *bounds, f"grid: {', '.join(grid)}"]) + "\n"

    def _each(self, value: Callable[[InferenceCase], int]) -> Values:
        return tuple(map(value, self.cases))

    def _extent(self, name: str) -> str:
        first = self.cases[0].buffers[name]
        axes = range(len(first.shape))
        lengths = [self._named(self._shape(name, a), f"{name}_{a}") for a in axes]
        if all(case.buffers[name].strides is None for case in self.cases):
            return f"{name}: {' * '.join(one for one in lengths if one != '1') or 1}"
        steps = [self._named(self._stride(name, a), f"{name}_stride_{a}") for a in axes]
        parts = [f"({n} - 1) * {s}" for n, s in zip(lengths, steps, strict=True)]
        return f"{name}: {' + '.join(parts)} + 1"

    def _pitch(self, values: Values) -> str:
        """Return the length of a buffer's last axis that was never exceeded, "" if there is none.

        A scalar that no extent names, such as a number of columns, must be bounded by something.
        """
        buffers = self.cases[0].buffers
        last = [self._shape(name, len(one.shape) - 1) for name, one in buffers.items() if one.shape]
        fitting = [at for at in last if at in self.symbols and _is_within(values, at)]
        is_size = min(values) > 0 and len(set(values)) > 1
        return self.symbols[min(fitting)] if fitting and is_size else ""

    def _shape(self, name: str, axis: int) -> Values:
        return self._each(lambda case: case.buffers[name].shape[axis])

    def _stride(self, name: str, axis: int) -> Values:
        def of(case: InferenceCase) -> int:
            buffer = case.buffers[name]
            contiguous = math.prod(buffer.shape[axis + 1 :])
            return contiguous if buffer.strides is None else buffer.strides[axis]

        return self._each(of)

    def _named(self, values: Values, hint: str) -> str:
        """Return a quantity: a constexpr or a number, a scalar that was equal, or a new size."""
        if values in self.symbols:
            return self.symbols[values]
        if len(set(values)) == 1 and (values[0] < 2 or values[0] in self.constants.values()):
            return next(
                (n for n, v in self.constants.items() if v == values[0] > 1), str(values[0])
            )
        if multiple := self._multiple(values, self.symbols):
            return multiple
        self.symbols[values] = hint
        self.sizes.append(hint)
        return hint

    def _multiple(self, values: Values, symbols: Mapping[Values, str]) -> str:
        """Return a few times a quantity that varied, "" where there is none."""
        for known, text in symbols.items():
            factor = values[0] // max(known[0], 1)
            is_same = values == tuple(factor * each for each in known)
            if 1 < factor <= _LARGEST_FACTOR and is_same and len(set(known)) > 1:
                return f"{factor} * {text}"
        return ""

    def _atoms(self, without: str) -> dict[Values, str]:
        """Return known quantities by their values: symbols, and constexprs above 1."""
        constant = {
            (value,) * len(self.cases): name for name, value in self.constants.items() if value > 1
        }
        found = {v: n for v, n in self.symbols.items() if n != without and max(v) > 1} | constant
        return dict(itertools.islice(found.items(), _MOST_ATOMS))

    def _fixed(self, name: str, values: Values) -> str:
        """Return what a scalar always equals, "" where nothing is seen."""
        same = next((n for n, v in self.constants.items() if set(values) == {v} and v > 1), "")
        if same:
            return f"{name} = {same}"
        if self.symbols[values] != name:
            return f"{name} = {self.symbols[values]}"
        text = self._multiple(values, self._atoms(name)) or _product(values, self._atoms(name))
        return f"{name} = {text}" if text else ""

    def _axis(self, axis: int) -> str:
        values = self._each(lambda case: case.grid[axis])
        if set(values) == {1}:
            return "1"
        if values in self.symbols:
            return self.symbols[values]
        text = self._tiles(values) or _product(values, self._atoms(""))
        return text or self._named(values, f"grid_{axis}")

    def _tiles(self, values: Values) -> str:
        """Return `cdiv(size, CONSTANT)`, or a product of two, with these values."""
        sizes = itertools.islice(self.symbols.items(), _MOST_ATOMS)
        blocks = [(n, v) for n, v in self.constants.items() if v > 1]
        quotients = {
            tuple(-(-x // block) for x in v): f"cdiv({n}, {name})"
            for (v, n), (name, block) in itertools.product(sizes, blocks)
        }
        if values in quotients:
            return quotients[values]
        for (a, x), (b, y) in itertools.combinations(quotients.items(), 2):
            if _times(a, b) == values:
                return f"{x} * {y}"
        return ""


def _product(values: Values, atoms: Mapping[Values, str]) -> str:
    """Return a product of known quantities with these values, "" where there is none."""
    for count in range(2, _MOST_FACTORS + 1):
        for parts in itertools.combinations_with_replacement(atoms.items(), count):
            if _times(*(part[0] for part in parts)) == values:
                return " * ".join(part[1] for part in parts)
    return ""


def _is_within(values: Values, limits: Values) -> bool:
    return all(value <= limit for value, limit in zip(values, limits, strict=True))


def _times(*factors: Iterable[int]) -> Values:
    return tuple(math.prod(each) for each in zip(*factors, strict=True))
