"""Guesses launches of kernels from a seed: grids, sizes, strides, buffers.

Most do not fit their kernel. The oracle keeps a launch if the CPU device finds no error in it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.gpu.oracle.candidates import Guess

_SMALL = re.compile(r"^(num|n)_|^H[A-Z]?$|^G$|group|heads|top_?k|split|batch|^B$", re.I)  # noqa: FURB167
_INDICES = re.compile(
    r"idx|ind(ex|ices|ptr)|(^|_)ids?(_|$)|offset|seq_?len|(^|_)cu_|lens?(_|$)|table|mapping|label|"
    r"target|token|pos(ition|_)|slot|count|perm|expert|chunk|start|(^|_)end|(^|_)loc|num_|seed|"
    r"lock|block",
    re.IGNORECASE,
)
_BOUNDARIES = re.compile(r"offset|cu_|indptr|start|cumsum|prefix", re.IGNORECASE)
_POSITIVE = re.compile(r"scale|rstd|std|var|lse|norm|weight_decay|absmax|sum|denom", re.IGNORECASE)
_FRACTIONS = re.compile(r"eps|(^|_)p$|dropout|prob|momentum|beta|smoothing|lr|alpha", re.IGNORECASE)
_STRIDE = re.compile(r"stride", re.IGNORECASE)
_SEED = re.compile(r"seed|philox", re.IGNORECASE)
_BASES = (64, 32, 128, 16, 48, 100, 256, 8, 4, 1024, 2, 1)
_DEEP = (1 << 16, 1 << 16, 1 << 18)
_BITS = {"i1": 1, "i8": 8, "u8": 8, "i16": 16, "u16": 16}


@dataclass(frozen=True)
class GuessedLaunch:
    """A grid, and for each run-time parameter a number or the initial contents of its buffer."""

    grid: tuple[int, int, int]
    scalars: dict[str, float | int | bool]
    contents: dict[str, dict[str, Any]]
    elements: int


def launches(guess: Guess, axes: set[int], seed: int, count: int) -> Iterator[GuessedLaunch]:
    """Yield guesses for a kernel that reads its program id along `axes`."""
    for attempt in range(count):
        yield _Attempt(guess, axes, random.Random(seed * 1000 + attempt), attempt).launch()


class _Attempt:
    def __init__(self, guess: Guess, axes: set[int], chance: random.Random, number: int) -> None:
        self._guess, self._axes, self._chance, self._number = guess, axes, chance, number
        whole = [v for v in guess.constexprs.values() if type(v) is int and v > 1]
        self._blocks = sorted({v for v in whole if v <= 8192}) or [64]
        bases = [*dict.fromkeys([self._blocks[-1], *_BASES])]
        self._base = bases[number % len(bases)]

    def launch(self) -> GuessedLaunch:
        chance, signature, hints = self._chance, self._guess.signature, self._guess.hints
        names = list(signature)
        strides = self._strides([n for n in names if _STRIDE.search(n)])
        scalars, contents = {}, {}
        for name in names:
            kind = signature[name]
            if kind.startswith(("*", "tensordesc")):
                contents[name] = self._contents(name, kind.removeprefix("*").partition("<")[-1]
                                                if kind.startswith("t") else kind[1:])  # fmt: skip
            else:
                value = strides.get(name) if kind[0] in "iu" else None
                scalars[name] = self._scalar(name, kind) if value is None else value
                if "divisible_by_16" in hints.get(name, ()):
                    scalars[name] = -(-int(scalars[name]) // 16) * 16
        most = (4, 3, 2) if self._number % 4 else (2, 2, 2)
        extents = [chance.randint(2, most[axis]) if axis in self._axes else 1 for axis in range(3)]
        if self._number % 6 == 5:
            extents = [1, 1, 1]
        return GuessedLaunch(tuple(extents), scalars, contents, _DEEP[self._number % len(_DEEP)])

    def _scalar(self, name: str, kind: str) -> float | int | bool:
        chance = self._chance
        if kind == "i1":
            return chance.random() < 0.5
        if kind[0] in "iu":
            if _SEED.search(name):
                return chance.randrange(1 << 15 if _BITS.get(kind) == 16 else 1 << 31)
            if _SMALL.search(name) and chance.random() < 0.7:
                return chance.choice((1, 2, 4))
            value = self._base
            if chance.random() > 0.7:
                value = chance.choice([*self._blocks, 64, 100, 32, 17, 4, 2, 1])
            return min(value, 100) if _BITS.get(kind, 64) <= 8 else value
        if re.search("eps", name, re.IGNORECASE):
            return 1e-5
        if _FRACTIONS.search(name):
            return chance.choice((0.1, 0.25, 0.9))
        return chance.choice((0.5, 1.0, 0.125, 1.5))

    def _strides(self, names: list[str]) -> dict[str, int]:
        groups: list[list[str]] = []
        together = self._chance.random() < 0.5
        for name in names:
            letter = re.sub(r"_?strides?_?", "", name.lower())[:1]
            before = re.sub(r"_?strides?_?", "", groups[-1][-1].lower())[:1] if groups else None
            singles = together and all(
                len(re.sub(r"_?strides?_?", "", n)) <= 1 for n in (name, *(groups or [[]])[-1])
            )
            if groups and (letter == before or singles):
                groups[-1].append(name)
            else:
                groups.append([name])
        row = max(self._base, self._blocks[-1], 64)
        found: dict[str, int] = {}
        for group in groups:
            step = 1 if len(group) > 1 else row
            for name in reversed(group):
                found[name] = step
                step = row if step == 1 else step * self._chance.choice((2, 4, 64))
                step = min(step, 1 << 15)
        return found

    def _contents(self, name: str, kind: str) -> dict[str, Any]:
        chance, seed = self._chance, self._chance.randrange(1 << 20)
        kind = kind.partition("[")[0]
        if kind[0] in "iu":
            if kind == "i1":
                return {"kind": "randint", "seed": seed, "low": 0, "high": 2}
            if _BOUNDARIES.search(name):
                step = chance.choice((0, 16, 32, 64, self._base))
                step = min(step, 1) if _BITS.get(kind, 64) <= 8 else step
                return {"kind": "arange", "start": 0, "step": step}
            if _INDICES.search(name):
                if chance.random() < 0.2:
                    return {"kind": "zeros"}
                high = chance.choice((2, 4, 4, 16, max(2, min(self._base, 64))))
                return {"kind": "randint", "seed": seed, "low": 0, "high": high}
            wide = (-100, 100) if kind[0] == "i" else (0, 200)
            low, high = chance.choice((wide, (0, 4)))
            return {"kind": "randint", "seed": seed, "low": low, "high": high}
        if _POSITIVE.search(name):
            return {"kind": "uniform", "seed": seed, "low": 0.25, "high": 1.5}
        return {"kind": "normal", "seed": seed, "mean": 0.0, "std": chance.choice((0.5, 1.0))}
