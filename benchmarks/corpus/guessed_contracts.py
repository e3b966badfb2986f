"""Guesses the contract of a kernel that no launch is known of: its grid, and what it spans.

The grid is read where the package launches the kernel, or from a mask `tile * BLOCK + lane < n`.
A buffer has as many elements as the accesses reach whose masks and loops bound them. Integers that
addresses depend on, and that are loaded, are indices from 0 on. So a proof says that no integer
wraps, that no address is negative, and that no access goes beyond what the others' masks say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from compiler.proof.access_reader import accesses_of
from compiler.proof.binding import AXES, SizeLimits
from compiler.proof.contract import Contract
from compiler.proof.evaluator import Evaluator
from compiler.proof.logic import AtLeastZero, Compound, Formula, conjuncts, units
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.prove import prover_of
from compiler.proof.terms import SymbolicAccess
from compiler.proof.unknowns import Unknowns
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import pointee_of
from launch.contract.text import read_contract

_STEPS = 14
_ROUNDS = 3
_TRIED = 3
_MAX_SPANS = 4
_MAX_VALUE = 1 << 20
"""Bounds beyond are limits of the proof, and none of the kernel's."""
NOT_GUESSED = str(2**30)
"""The extent of a buffer whose accesses nothing bounds: no answer about its bounds counts."""
LIMITS = SizeLimits(size=2**30, elements=2**30)


def guessed_contract(
    module: Operation, constants: Mapping[str, int], grid: list[str], sizes: list[str]
) -> str:
    """Return a contract's text; `grid` has expressions over `sizes` and arguments, "" for unknown.

    Raises as `prove` does.
    """
    guess = _Guess(module, constants, [*grid, *[""] * len(AXES)][: len(AXES)], set(sizes))
    guess.read()
    guess.find_grid()
    for _ in range(_ROUNDS):  # the ranges of indices make more addresses readable
        before = set(guess.indices)
        guess.extents = {}
        guess.read()
        guess.find_extents()
        if guess.indices == before:
            break
    return guess.text()


@dataclass
class _Guess:
    module: Operation
    constants: Mapping[str, int]
    grid: list[str]
    sizes: set[str]
    indices: set[str] = field(default_factory=set)
    """Buffers that hold indices."""
    extents: dict[str, list[Polynomial]] = field(default_factory=dict)
    accesses: list[SymbolicAccess] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Return the contract as far as it is known."""
        sizes = set(self.sizes)
        sizes |= {f"programs_{axis}" for axis, text in enumerate(self.grid) if not text}
        grid = [text or f"programs_{axis}" for axis, text in enumerate(self.grid)]
        lines = [f"grid: {', '.join(grid)}", *self.relations]
        for buffer in self.used:
            spans = self.extents.get(buffer)
            lines.append(f"{buffer}: {_largest(spans) if spans else NOT_GUESSED}")
        for buffer in sorted(self.indices):
            sizes.add(f"{buffer}_end")
            lines.append(f"values {buffer}: 0 .. {buffer}_end")
        head = [f"sizes {' '.join(sorted(sizes))}"] if sizes else []
        return "\n".join([*head, *lines]) + "\n"

    def read(self) -> None:
        """Read the accesses under what is known so far."""
        contract: Contract = read_contract(self.text())
        prover = prover_of(self.module, contract, self.constants, LIMITS)
        self.evaluator: Evaluator = prover.evaluator
        self.unknowns: Unknowns = prover.unknowns
        self.accesses = [
            access for access in accesses_of(prover.evaluator) if isinstance(access, SymbolicAccess)
        ]
        self.used = [
            argument
            for argument, kind in prover.contract.arguments.items()
            if pointee_of(kind) is not None
        ]

    def find_grid(self) -> None:
        """Read sizes of the grid from masks where no launch tells them."""
        seen = self._names_below(
            *(part for access in self.accesses for part in (access.path, access.mask))
        )
        seen |= self._closure(text for offset in self._offsets() for text in offset.names)
        for axis, letter in enumerate(AXES):
            program = f"program#{letter}"
            if self.grid[axis] and not self._is_free(axis):
                continue
            if program not in seen:
                self.grid[axis] = self.grid[axis] or "1"
                continue
            tiles = (
                self._tiles(program, part) for access in self.accesses for part in _parts(access)
            )
            axis_text = next((text for text in tiles if text), "")
            self.grid[axis] = axis_text or self.grid[axis]
            tile = self._tile(program)
            if not axis_text and tile > 1:  # as many programs as the largest buffer has tiles
                size = self.grid[axis] or f"programs_{axis}"
                self.relations.append(f"({size}) * {tile} <= {LIMITS.elements}")

    def _is_free(self, axis: int) -> bool:
        """Return whether a size of the grid depends on more than the kernel's arguments."""
        return bool(set(re.findall(r"\w+", self.grid[axis])) & self.sizes)

    def _offsets(self) -> list[Polynomial]:
        return [case.offset for access in self.accesses for case in access.pointer.cases]

    def _tile(self, program: str) -> int:
        """Return the largest number that what depends on a program is multiplied with."""
        conditions = [unit.polynomial for access in self.accesses for unit in _units(access)]
        return max(
            (
                abs(factor)
                for polynomial in (*self._offsets(), *conditions)
                for monomial, factor in polynomial.terms.items()
                if len(monomial) == 1 and program in self._closure(monomial)
            ),
            default=1,
        )

    def _names_below(self, *formulas: Formula) -> set[str]:
        return self._closure(text for formula in formulas for text in _names(formula))

    def _closure(self, names: Iterable[str]) -> set[str]:
        pending, seen = list(names), set[str]()
        while pending:
            text = pending.pop()
            if text not in seen and text in self.unknowns.known:
                seen.add(text)
                pending += [n for fact in self.unknowns.known[text].facts for n in _names(fact)]
        return seen

    def _tiles(self, program: str, part: Formula) -> str:
        """Return `cdiv(n, BLOCK)` if a condition is `program * BLOCK + lane < n`."""
        if not isinstance(part, AtLeastZero) or program not in part.polynomial.names:
            return ""
        size = part.polynomial
        step = size.terms.get((program,), 0)
        size = Polynomial({m: c for m, c in size.terms.items() if "lane" not in "".join(m)})
        size = size.replaced(program, lift(0)) + 1
        if step >= 0 or any("#" in text for text in size.names) or size.constant is not None:
            return ""
        return size.text() if step == -1 else f"cdiv({size.text()}, {-step})"

    def find_extents(self) -> None:
        """Find how far the accesses of each buffer reach, and the indices that they depend on."""
        reached = self._names_below(*(part for access in self.accesses for part in _parts(access)))
        reached |= self._closure(text for offset in self._offsets() for text in offset.names)
        loaded = self.evaluator.loaded
        self.indices |= {loaded[text].base for text in reached if text in loaded}
        for access in self.accesses:
            for case in access.pointer.cases:
                if not isinstance(case.base, str):
                    continue
                facts = [*_parts(access), *conjuncts(case.condition)]
                span = _Span(self.evaluator, facts)
                end = span.upper(case.offset)
                self.indices |= span.indices
                ends = self.extents.setdefault(case.base, [])
                if end is not None and not any(_covers(known_end, end + 1) for known_end in ends):
                    kept = [known_end for known_end in ends if not _covers(end + 1, known_end)]
                    self.extents[case.base] = [*kept, end + 1]


def _parts(access: SymbolicAccess) -> list[Formula]:
    return [*conjuncts(access.mask), *conjuncts(access.path)]


def _units(access: SymbolicAccess) -> list[AtLeastZero]:
    parts = [unit for part in _parts(access) for unit in units(part)]
    return [part for part in parts if isinstance(part, AtLeastZero)]


def _names(formula: Formula) -> Iterator[str]:
    if isinstance(formula, Compound):
        for part in formula.parts:
            yield from _names(part)
    elif isinstance(formula, AtLeastZero):
        yield from formula.polynomial.names


def _largest(spans: list[Polynomial]) -> str:
    first, *rest = spans[:_MAX_SPANS]
    text = first.text()
    for span in rest:
        text = f"max({text}, {span.text()})"
    return text


@dataclass
class _Span:
    """Bounds an address from above, by conditions that hold where it is used."""

    evaluator: Evaluator
    facts: list[Formula]
    indices: set[str] = field(default_factory=set)

    def upper(self, end: Polynomial, left: int = _STEPS) -> Polynomial | None:
        """Return what `end` never exceeds, over arguments and sizes; None where that is unclear."""
        inner = [text for text in sorted(end.names) if self._is_inner(text)]
        if not inner:
            return self._written(end)
        if left == 0 or len(end.terms) > 2 * _STEPS:
            return None
        for _, larger in self._without_one(end, inner)[:_TRIED]:
            bound = self.upper(larger, left - 1)
            if bound is not None:
                return bound
        for text in inner:
            for bound in (self._of_quotient(end, text, left), self._of_ways(end, text, left)):
                if bound is not None:
                    return bound
        return None

    def _is_inner(self, text: str) -> bool:
        """Return whether a name is none of an argument, of a size, or of a quotient of these."""
        if "#" not in text or " " in text:
            return False
        parts = self.evaluator.unknowns.quotients.get(text)
        return parts is None or any(self._is_inner(inner) for part in parts for inner in part.names)

    def _written(self, polynomial: Polynomial) -> Polynomial:
        """Return the same with each quotient of arguments as text."""
        for text in sorted(polynomial.names):
            if "#" in text and " " not in text:
                a, b = map(self._written, self.evaluator.unknowns.quotients[text])
                whole = name(f"(({a.text()}) // ({b.text()}))")
                polynomial = polynomial.replaced(text, whole)
        return polynomial

    def _without_one(
        self, end: Polynomial, inner: list[str]
    ) -> list[tuple[tuple[int, int, int], Polynomial]]:
        """Return larger numbers in which some name no longer stands, simple ones first."""
        larger_ends = []
        for number, fact in enumerate(self._bounds(inner)):
            for text in inner:
                if text not in fact.names:
                    continue
                mine, its = _factor(end, text), _factor(fact, text)
                times = None if mine is None or its is None else (-mine).divided_by(its)
                if times is None or not times.terms or not self._is_natural(times):
                    continue
                larger = end + times * fact
                left = sum(self._is_inner(remaining) for remaining in larger.names)
                if text not in larger.names:
                    larger_ends.append(((left, len(larger.terms), number), larger))
        return sorted(larger_ends, key=lambda item: item[0])

    def _bounds(self, inner: list[str]) -> list[Polynomial]:
        """Return polynomials that are at least 0: of the access first, then of each name."""
        unknowns = self.evaluator.unknowns
        bounds = [fact.polynomial for fact in self.facts if isinstance(fact, AtLeastZero)]
        for text in inner:
            known = unknowns.known.get(text)
            if known is None:
                continue
            for fact in known.facts:
                bounds += [
                    part.polynomial for part in conjuncts(fact) if isinstance(part, AtLeastZero)
                ]
            if text in self.evaluator.loaded:
                base = self.evaluator.loaded[text].base
                self.indices.add(base)
                bounds += [name(f"{base}_end") - 1 - name(text), name(text)]
            elif known.origin is None and not text.startswith(("program", "turn", "trips")):
                low, high = known.range.interval
                bounds += [lift(int(high)) - name(text)] if high <= _MAX_VALUE else []
                bounds += [name(text) - int(low)] if low >= -_MAX_VALUE else []
        return bounds

    def _is_natural(self, polynomial: Polynomial) -> bool:
        interval = self.evaluator.unknowns.interval

        def low(text: str) -> float:
            return 0 if " " in text or "#" not in text else interval(text)[0]

        return all(
            factor > 0 and all(low(text) >= 0 for text in monomial)
            for monomial, factor in polynomial.terms.items()
        )

    def _of_quotient(self, end: Polynomial, text: str, left: int) -> Polynomial | None:
        parts = self.evaluator.unknowns.quotients.get(text)
        mine = _factor(end, text)
        if parts is None or mine is None or not self._is_natural(mine):
            return None
        dividend = self.upper(parts[0], left - 1)
        if dividend is None or any(self._is_inner(divisor_name) for divisor_name in parts[1].names):
            return None
        whole = name(f"(({dividend.text()}) // ({self._written(parts[1]).text()}))")
        return self.upper(end.replaced(text, whole), left - 1)

    def _of_ways(self, end: Polynomial, text: str, left: int) -> Polynomial | None:
        """Return the larger of what a name is in two cases, of a maximum or a choice."""
        for fact in self.evaluator.unknowns.known[text].facts:
            if not isinstance(fact, Compound) or fact.word != "or":
                continue
            values = [_value(way, text) for way in fact.parts]
            if len(values) != 2 or None in values:
                continue
            ends = [self.upper(end.replaced(text, value), left - 1) for value in values if value]
            if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
                if ends[0] == ends[1]:
                    return ends[0]
                return name(f"max({ends[0].text()}, {ends[1].text()} )")
        return None


def _value(way: Formula, text: str) -> Polynomial | None:
    for part in conjuncts(way):
        if isinstance(part, AtLeastZero) and part.polynomial.terms.get((text,)) == 1:
            other = part.polynomial - name(text)
            if text not in other.names and AtLeastZero(-part.polynomial) in conjuncts(way):
                return -other
    return None


def _factor(polynomial: Polynomial, text: str) -> Polynomial | None:
    """Return what a name is multiplied with; None where it stands in a power."""
    made = {}
    for monomial, factor in polynomial.terms.items():
        if text in monomial:
            if monomial.count(text) > 1:
                return None
            made[tuple(other for other in monomial if other != text)] = factor
    return Polynomial(made)


def _covers(a: Polynomial, b: Polynomial) -> bool:
    """Return whether `a` is at least `b` wherever all sizes are at least 1."""
    difference = a - b
    # over sizes of 1 and more: x becomes x + 1, and every factor must be positive
    for text in difference.names:
        difference = difference.replaced(text, name(text) + 1)
    return all(factor > 0 for factor in difference.terms.values())
