"""Proves that no two programs of a grid meet in one element, unless both only read it.

A second program is a copy of all names but those of the contract. Two accesses of one buffer that
meet must then be of one program: shown axis by axis of the grid. Arguments do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from compiler.proof.binding import AXES
from compiler.proof.float_extremes import are_of_one_extreme, operation_of
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
from compiler.proof.unknowns import Unknowns
from compiler.ttir_to_numpy.mlir_types import element_of

_IN_ANY_ORDER = "atomic operations of several programs meet there, in any order"
COMMUTING = frozenset({"and", "or", "xor", "add", "fadd", "max", "min", "umax", "umin"})
_OF_A_BLOCK = 2
"""The scope "cta": it is atomic for the threads of one program only."""
_COUNTERS_THAT_WRAP = (4, 5)
"""tt.descriptor_reduce that counts up or down and wraps at its operand, which may differ."""
_MAX_ROUNDS, _MAX_COMPARED, _MAX_FAILED = 5, 24, 2
"""Rounds in which names of two programs are compared, names of one, and those that may differ."""


@dataclass
class RaceProver:
    """Answers for the accesses of one kernel."""

    prover: Prover
    accesses: Sequence[SymbolicAccess | UnreadAccess]
    _shared: frozenset[str] = frozenset()
    _twins: dict[frozenset[str], _Twins] = field(default_factory=dict)
    """The names of a second program, by the values that it has in common with the first one."""
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
            other_access = self.accesses[other]
            if isinstance(other_access, UnreadAccess):
                return Conclusion("unknown", reason=other_access.reason)
            made = self._pair(number, other, access, other_access)
            if made.verdict != "proved":
                return made
            under |= made.under
        return Conclusion("proved", under)

    def _pair(self, number: int, other: int, a: SymbolicAccess, b: SymbolicAccess) -> Conclusion:
        key = min(number, other), max(number, other)
        if key not in self._pairs:
            try:
                self._pairs[key] = self._pair_conclusion(a, b)
            except ProofLimitReached as reached:
                self._pairs[key] = Conclusion("unknown", reason=str(reached))
        return self._pairs[key]

    def _pair_conclusion(self, a: SymbolicAccess, b: SymbolicAccess) -> Conclusion:
        if _commutes(a) and _commutes(b):
            if _kind_of(a) == _kind_of(b):
                return Conclusion("proved")
            if are_of_one_extreme(a.operation, b.operation, self.prover.evaluator):
                return Conclusion("proved")
        under = Statements()
        for case in a.pointer.cases:
            for other in b.pointer.cases:
                made = self._cases_conclusion(a, case, b, other)
                if made.verdict == "refuted" and a.kind == b.kind == "atomic":
                    return Conclusion("possible", reason=_IN_ANY_ORDER)
                if made.verdict != "proved":
                    return replace(made, pair=(a.operation, b.operation))
                under |= made.under
        return Conclusion("proved", under)

    def _cases_conclusion(
        self, a: SymbolicAccess, case: PointerCase, b: SymbolicAccess, other: PointerCase
    ) -> Conclusion:
        if not isinstance(case.base, str) or not isinstance(other.base, str):
            return Conclusion("unknown", reason=case.why_unknown or other.why_unknown)
        if case.base != other.base:
            return Conclusion("proved")
        meeting = _Meeting((a, b), (case, other))
        twins = self._twins_but(frozenset())
        conditions, under = self._where_they_meet(meeting, twins)
        same, shown = self._same_names(meeting)
        conditions += [equal(name(text), name(twins.of(text))) for text in same]
        under |= shown
        left, shown = self._programs_apart(conditions, twins)
        under |= shown
        if not left:
            return Conclusion("proved", under)
        pairs = [(name(f"program#{axis}"), name(twins.of(f"program#{axis}"))) for axis in left]
        differ = either(
            *(at_least(x, y + 1) for x, y in pairs), *(at_least(y, x + 1) for x, y in pairs)
        )
        made = self.prover.broken([differ, *conditions], "nothing shows that programs differ there")
        return Conclusion(made.verdict, reason=made.reason, model=made.model, case=case)

    def _where_they_meet(
        self, meeting: _Meeting, twins: _Twins
    ) -> tuple[list[Formula], Statements]:
        """Return what holds where two programs access one element."""
        (a, b), (case, other) = meeting.accesses, meeting.cases
        offset, other_offset = case.offset, other.offset.renamed(twins.of)
        conditions = [a.path, a.mask, case.condition]
        conditions += [renamed(part, twins.of) for part in (b.path, b.mask, other.condition)]
        conditions = [part for part in (*conditions, equal(offset, other_offset)) if part != TRUE]
        named = [*conditions, at_least(offset), at_least(other_offset)]
        conditions += self._equal_loads(named, twins)
        conditions += self._equal_operands([*named, *conditions], twins)
        under = Statements()
        # what a stride counts must be the same in both
        for letter in sorted(offset.names & set(self.prover.contract.sizes)):
            digits = _counted(offset, letter), _counted(other_offset, letter)
            if digits[0] is None or digits[1] is None or digits[0] == digits[1]:
                continue
            same = equal(digits[0], digits[1])
            statements = self.prover.shown(same, conditions)
            if statements is not None:
                conditions.append(same)
                under |= statements
        return conditions, under

    def _equal_loads(self, formulas: Sequence[Formula], twins: _Twins) -> list[Formula]:
        """Return that two programs load one value from one place, which no program writes."""
        loaded, made = self.prover.evaluator.loaded, list[Formula]()
        for text in self._behind(formulas):
            value = loaded.get(text)
            if (
                value is None
                or value.is_masked
                or twins.of(text) == text
                or self._is_written(value.base)
            ):
                continue
            differs = opposite(equal(value.offset, value.offset.renamed(twins.of)))
            made.append(either(differs, equal(name(text), name(twins.of(text)))))
        return made

    def _is_written(self, base: str) -> bool:
        """Return whether some access may write a buffer."""
        for access in self.accesses:
            if access.kind == "load":
                continue
            if isinstance(access, UnreadAccess):
                return True
            bases = [case.base for case in access.pointer.cases]
            if base in bases or not all(isinstance(other, str) for other in bases):
                return True
        return False

    def _equal_operands(self, formulas: Sequence[Formula], twins: _Twins) -> list[Formula]:
        """Return that equal bits, of which one operand is equal, have an equal other operand."""
        known, made = self.prover.unknowns, list[Formula]()
        for text in self._behind(formulas):
            if text not in known.exclusive or twins.of(text) == text:
                continue
            differs = opposite(equal(name(text), name(twins.of(text))))
            a, b = (equal(operand, operand.renamed(twins.of)) for operand in known.exclusive[text])
            made += [either(differs, opposite(a), b), either(differs, opposite(b), a)]
        return made

    def _behind(self, formulas: Sequence[Formula]) -> list[str]:
        """Return the names in formulas, then those in the facts of these names, and so on."""
        known = self.prover.unknowns.known
        behind = dict.fromkeys(text for formula in formulas for text in sorted(names_of(formula)))
        pending = list(behind)
        for text in pending:
            facts = known[text].facts if text in known else []
            inner = [inner for fact in facts for inner in sorted(names_of(fact))]
            pending += [
                inner_text for inner_text in dict.fromkeys(inner) if inner_text not in behind
            ]
            behind |= dict.fromkeys(inner)
        return list(behind)

    def _programs_apart(
        self, conditions: list[Formula], twins: _Twins
    ) -> tuple[list[str], Statements]:
        """Return the axes of the grid on which two programs may differ that meet."""
        grid, under = self.prover.contract.grid, Statements()
        left = [axis for axis, size in zip(AXES, grid, strict=True) if size.constant != 1]
        for _ in range(len(left)):  # an axis that is shown equal helps with the next
            for axis in list(left):
                mine = name(f"program#{axis}")
                same = equal(mine, mine.renamed(twins.of))
                statements = self.prover.shown(same, conditions)
                if statements is not None:
                    left.remove(axis)
                    conditions.append(same)
                    under |= statements
        return left, under

    def _same_names(self, meeting: _Meeting) -> tuple[list[str], Statements]:
        """Return names that have one value in two programs that meet, where quotients are in play.

        What is shown of a name is put in place, since linear arithmetic does not put equal factors
        into products: from equal quotients and remainders follow equal dividends.
        """
        same, under = list[str](), Statements()
        offsets = [at_least(case.offset) for case in meeting.cases]
        varying = [text for text in self._behind(offsets) if text not in self._shared]
        if not any(text in self.prover.unknowns.quotients for text in varying):
            return same, under
        for _ in range(_MAX_ROUNDS):
            twins = self._twins_but(frozenset(same))
            conditions, shown = self._where_they_meet(meeting, twins)
            under |= shown
            before, failed = len(same), 0
            for text in [text for text in varying if text not in same][:_MAX_COMPARED]:
                equality = equal(name(text), name(twins.of(text)))
                statements = self.prover.shown(equality, conditions)
                if statements is not None:
                    conditions.append(equality)
                    same.append(text)
                    under |= statements
                    continue
                failed += 1
                if failed == _MAX_FAILED:
                    break
            if len(same) in (before, len(varying)):
                break
        return same, under

    def _twins_but(self, same: frozenset[str]) -> _Twins:
        """Return the names of a second program that has these values in common with the first."""
        if same not in self._twins:
            mark = f"'{len(self._twins) or ''}"
            self._twins[same] = _Twins(self.prover.unknowns, self._shared | same, mark)
        return self._twins[same]

    def _names_of_contract(self) -> frozenset[str]:
        """Return the names that all programs share."""
        bound = self.prover.contract
        facts = [fact.formula for fact in bound.facts]
        values = [*bound.extents.values(), *bound.grid, *bound.fixed.values()]
        named = {text for value in values for text in value.names}
        named |= {*bound.sizes, *bound.arguments}
        return frozenset(self._behind([*facts, *(at_least(name(text)) for text in named)]))


@dataclass(frozen=True)
class _Meeting:
    """Two accesses and a case of each of their addresses: two programs may meet there."""

    accesses: tuple[SymbolicAccess, SymbolicAccess]
    cases: tuple[PointerCase, PointerCase]


@dataclass(frozen=True)
class _Twins:
    """The names of a second program: copies of all names that it does not share."""

    unknowns: Unknowns
    shared: frozenset[str]
    mark: str

    def of(self, text: str) -> str:
        """Return a name in the other program; its facts are those of the name."""
        if text in self.shared:
            return text
        made = f"{text}{self.mark}" if "#" in text else f"{text}#{self.mark}"
        unknowns = self.unknowns
        if made not in unknowns.known:
            unknown = unknowns.known.get(text)
            unknowns.define(made, unknowns.range(text))
            copy = unknowns.known[made]
            if unknown is not None:
                copy.origin, copy.label = unknown.origin, unknown.label
                copy.needs = tuple(
                    (renamed(formula, self.of), tuple(renamed(part, self.of) for part in where))
                    for formula, where in unknown.needs
                )
                copy.guard = tuple(renamed(part, self.of) for part in unknown.guard)
                copy.facts = [
                    part for fact in unknown.facts for part in conjuncts(renamed(fact, self.of))
                ]
            if text in unknowns.quotients:
                a, b = unknowns.quotients[text]
                unknowns.quotients[made] = a.renamed(self.of), b.renamed(self.of)
        return made


def _counted(offset: Polynomial, letter: str) -> Polynomial | None:
    """Return the coefficient of a size in an offset."""
    with_letter = {m: c for m, c in offset.terms.items() if letter in m}
    return Polynomial(with_letter).divided_by(name(letter))


def _kind_of(access: SymbolicAccess) -> tuple[object, ...]:
    """Return what two operations share that commute: sums of f16 and of bf16 do not."""
    operation = access.operation
    return operation.name, operation.attributes, element_of(operation.operands[1].type)


def _commutes(access: SymbolicAccess) -> bool:
    if access.operation.name == "tt.descriptor_reduce":
        return access.operation.integer("kind") not in _COUNTERS_THAT_WRAP
    if access.operation.name != "tt.atomic_rmw" or access.operation.integer("scope") == _OF_A_BLOCK:
        return False
    return operation_of(access.operation) in COMMUTING
