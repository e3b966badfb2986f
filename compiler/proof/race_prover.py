"""Proves that no two programs of a grid meet in one element, unless both only read it.

A second program is a copy of all names but those of the contract. Two accesses of one buffer that
meet must then be of one program: shown axis by axis of the grid. Arguments do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compiler.proof.binding import AXES
from compiler.proof.logic import (
    TRUE,
    Formula,
    at_least,
    conjuncts,
    either,
    equal,
    names_of,
    opposite,
    renamed,
)
from compiler.proof.obligations import Conclusion, Prover, Statements
from compiler.proof.polynomial import Polynomial, name
from compiler.proof.proof_limits import ProofLimitReached
from compiler.proof.terms import PointerCase, SymbolicAccess, UnreadAccess
from compiler.ttir_to_numpy.mlir_types import element_of

_IN_ANY_ORDER = "atomic operations of several programs meet there, in any order"
COMMUTING = frozenset({"and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin"})
_OPERATIONS = ("and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin", "exch")
"""The operations of tt.atomic_rmw, by their number from 1."""
_OF_A_BLOCK = 2
"""The scope "cta": it is atomic for the threads of one program only."""
_COUNTERS_THAT_WRAP = (4, 5)
"""tt.descriptor_reduce that counts up or down and wraps at its operand, which may differ."""


@dataclass
class RaceProver:
    """Answers for the accesses of one kernel."""

    prover: Prover
    accesses: Sequence[SymbolicAccess | UnreadAccess]
    _shared: frozenset[str] = frozenset()
    _pairs: dict[tuple[int, int], Conclusion] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._shared = self._names_of_contract()

    def race(self, number: int) -> Conclusion | None:
        """Return whether another program may meet the write `number`; None for a load."""
        access = self.accesses[number]
        if access.kind == "load":
            return None
        if isinstance(access, UnreadAccess):
            return Conclusion("unknown", reason=access.reason)
        under = Statements()
        # with itself first: copies of one access in several programs meet most often
        for other in sorted(range(len(self.accesses)), key=lambda other: other != number):
            beside = self.accesses[other]
            if isinstance(beside, UnreadAccess):
                return Conclusion("unknown", reason=beside.reason)
            made = self._pair(number, other, access, beside)
            if made.verdict != "proved":
                return made
            under |= made.under
        return Conclusion("proved", under)

    def _pair(self, number: int, other: int, a: SymbolicAccess, b: SymbolicAccess) -> Conclusion:
        key = min(number, other), max(number, other)
        if key not in self._pairs:
            try:
                self._pairs[key] = self._of_pair(a, b)
            except ProofLimitReached as reached:
                self._pairs[key] = Conclusion("unknown", reason=str(reached))
        return self._pairs[key]

    def _of_pair(self, a: SymbolicAccess, b: SymbolicAccess) -> Conclusion:
        if _commutes(a) and _commutes(b) and _kind_of(a) == _kind_of(b):
            return Conclusion("proved")
        under = Statements()
        for one in a.pointer.cases:
            for other in b.pointer.cases:
                made = self._of_cases(a, one, b, other)
                if made.verdict == "refuted" and a.kind == b.kind == "atomic":
                    return Conclusion("possible", reason=_IN_ANY_ORDER)
                if made.verdict != "proved":
                    return replace(made, pair=(a.operation, b.operation))
                under |= made.under
        return Conclusion("proved", under)

    def _of_cases(
        self, a: SymbolicAccess, one: PointerCase, b: SymbolicAccess, other: PointerCase
    ) -> Conclusion:
        if not isinstance(one.base, str) or not isinstance(other.base, str):
            return Conclusion("unknown", reason=one.why_unknown or other.why_unknown)
        if one.base != other.base:
            return Conclusion("proved")
        offset, beside = one.offset, other.offset.renamed(self._twin)
        given = [a.path, a.mask, one.condition]
        given += [renamed(part, self._twin) for part in (b.path, b.mask, other.condition)]
        given = [part for part in (*given, equal(offset, beside)) if part != TRUE]
        given += self._of_exclusive([*given, at_least(offset), at_least(beside)])
        under = Statements()
        # what a stride counts must be the same in both
        for letter in sorted(offset.names & set(self.prover.contract.sizes)):
            digits = _counted(offset, letter), _counted(beside, letter)
            if digits[0] is None or digits[1] is None:
                continue
            same = equal(digits[0], digits[1])
            found = self.prover.shown(same, given)
            if found is not None:
                given.append(same)
                under |= found
        return self._same_program(given, under, one)

    def _of_exclusive(self, formulas: Sequence[Formula]) -> list[Formula]:
        """Return that equal bits, of which one operand is equal, have an equal other operand."""
        known, made = self.prover.unknowns, list[Formula]()
        for text in self._names_behind(formulas):
            if text not in known.exclusive or self._twin(text) == text:
                continue
            differs = opposite(equal(name(text), name(self._twin(text))))
            a, b = (equal(one, one.renamed(self._twin)) for one in known.exclusive[text])
            made += [either(differs, opposite(a), b), either(differs, opposite(b), a)]
        return made

    def _names_behind(self, formulas: Sequence[Formula]) -> list[str]:
        """Return the names in formulas, and in the facts of these names."""
        known = self.prover.unknowns.known
        pending = [text for one in formulas for text in sorted(names_of(one))]
        found: dict[str, None] = {}
        while pending:
            text = pending.pop()
            if text not in found:
                found[text] = None
                facts = known[text].facts if text in known else []
                pending += [inner for fact in facts for inner in sorted(names_of(fact))]
        return list(found)

    def _same_program(
        self, given: list[Formula], under: Statements, case: PointerCase
    ) -> Conclusion:
        grid = self.prover.contract.grid
        left = [axis for axis, size in zip(AXES, grid, strict=True) if size.constant != 1]
        for _ in range(len(left)):  # an axis that is shown equal helps with the next
            for axis in list(left):
                mine = name(f"program#{axis}")
                same = equal(mine, mine.renamed(self._twin))
                found = self.prover.shown(same, given)
                if found is not None:
                    left.remove(axis)
                    given.append(same)
                    under |= found
        if not left:
            return Conclusion("proved", under)
        pairs = [(name(f"program#{axis}"), name(self._twin(f"program#{axis}"))) for axis in left]
        differ = either(
            *(at_least(x, y + 1) for x, y in pairs), *(at_least(y, x + 1) for x, y in pairs)
        )
        made = self.prover.broken([differ, *given], "nothing shows that programs differ there")
        return Conclusion(made.verdict, reason=made.reason, model=made.model, case=case)

    def _names_of_contract(self) -> frozenset[str]:
        """Return the names that all programs share."""
        bound = self.prover.contract
        facts = [fact.formula for fact in bound.facts]
        values = [*bound.extents.values(), *bound.grid, *bound.fixed.values()]
        named = {text for value in values for text in value.names}
        named |= {*bound.sizes, *bound.arguments}
        return frozenset(self._names_behind([*facts, *(at_least(name(text)) for text in named)]))

    def _twin(self, text: str) -> str:
        """Return a name in the other program; its facts are those of the name."""
        if text in self._shared:
            return text
        made = f"{text}'" if "#" in text else f"{text}#'"
        unknowns = self.prover.unknowns
        if made not in unknowns.known:
            unknown = unknowns.known.get(text)
            unknowns.define(made, unknowns.range(text))
            copy = unknowns.known[made]
            if unknown is not None:
                copy.origin, copy.label = unknown.origin, unknown.label
                copy.needs = tuple(
                    (renamed(one, self._twin), tuple(renamed(part, self._twin) for part in where))
                    for one, where in unknown.needs
                )
                copy.guard = tuple(renamed(part, self._twin) for part in unknown.guard)
                copy.facts = [
                    part for fact in unknown.facts for part in conjuncts(renamed(fact, self._twin))
                ]
            if text in unknowns.quotients:
                a, b = unknowns.quotients[text]
                unknowns.quotients[made] = a.renamed(self._twin), b.renamed(self._twin)
        return made


def _counted(offset: Polynomial, letter: str) -> Polynomial | None:
    """Return the coefficient of a size in an offset."""
    beside = {m: c for m, c in offset.terms.items() if letter in m}
    return Polynomial(beside).divided_by(name(letter))


def _kind_of(access: SymbolicAccess) -> tuple[object, ...]:
    """Return what two operations share that commute: sums of f16 and of bf16 do not."""
    operation = access.operation
    return operation.name, operation.attributes, element_of(operation.operands[1].type)


def _commutes(access: SymbolicAccess) -> bool:
    if access.operation.name == "tt.descriptor_reduce":
        return access.operation.integer("kind") not in _COUNTERS_THAT_WRAP
    if access.operation.name != "tt.atomic_rmw" or access.operation.integer("scope") == _OF_A_BLOCK:
        return False
    number = access.operation.integer("atomic_rmw_op")
    return 0 < number <= len(_OPERATIONS) and _OPERATIONS[number - 1] in COMMUTING
