"""Proves or breaks what must hold of an access: it is in its buffer, and no integer wraps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from compiler.proof.binding import BoundContract
from compiler.proof.evaluator import Evaluator
from compiler.proof.linear import LinearProver
from compiler.proof.logic import TRUE, Formula, at_least, conjuncts, names_of, opposite
from compiler.proof.polynomial import name
from compiler.proof.signs import read_as_signed
from compiler.proof.solver import Model
from compiler.proof.terms import Check, PointerCase, SymbolicAccess
from compiler.proof.unknowns import Unknowns
from compiler.proof.witness import is_satisfiable, smallest_witness
from compiler.ttir_to_numpy.ir import Operation, Value

_MAX_REFUTED = 4
"""Integers of one access whose smallest witnesses are compared."""
_MAY_BE_UNSIGNED = (
    "an integer wraps as a signed one, and as an unsigned one it fits: TTIR does not tell which it"
    " is"
)
_LOOKS_NEGATIVE = (
    "an integer fits as a signed one, and it is made of unsigned numbers that look negative so"
)
Verdict = Literal["proved", "refuted", "possible", "unknown"]
Statements = frozenset[str]
"""Statements of the contract, by their labels."""


@dataclass(frozen=True)
class Conclusion:
    """The answer to one obligation; `refuted` is the solver's word, to be replayed first."""

    verdict: Verdict
    under: Statements = frozenset()
    """The statements that a proof rests on."""
    reason: str = ""
    model: Model | None = None
    check: Check | None = None
    case: PointerCase | None = None
    pair: tuple[Operation, Operation] | None = None
    """Of a race: the access of the first program, and that of the second one."""


@dataclass
class Prover:
    """Answers obligations of one kernel."""

    evaluator: Evaluator
    unknowns: Unknowns
    contract: BoundContract
    linear: LinearProver
    _shown: dict[tuple[Formula, tuple[Formula, ...]], Statements | None] = field(
        default_factory=dict
    )
    _checked: dict[tuple[Check, tuple[Formula, ...]], Conclusion] = field(default_factory=dict)
    _reached: dict[tuple[Formula, ...], bool] = field(default_factory=dict)
    _signed: frozenset[Value] | None = None

    @property
    def checked(self) -> list[Conclusion]:
        """The answers about all integers, each once for where it was asked."""
        return list(self._checked.values())

    def choices(self) -> Statements:
        """Return what a reading of the kernel rests on: which side of a minimum is the smaller."""
        used = (self.linear.always(*need) or () for need in self.unknowns.decided)
        return self.linear.labels(ground for evidence in used for ground in evidence)

    def is_reached(self, access: SymbolicAccess) -> bool:
        """Return whether some sizes that keep the contract have the access run.

        A proof about what never runs does not count, nor does one about buffers that can hold no
        value.
        """
        ranges = self.contract.value_ranges.values()
        held = [at_least(high, low + 1) for low, high in ranges]
        wanted = (*self.reaching(access), *held)
        if wanted not in self._reached:
            self._reached[wanted] = is_satisfiable(wanted, self.contract.sizes, self.linear.effort)
        return self._reached[wanted]

    def reaching(self, access: SymbolicAccess) -> list[Formula]:
        """Return what must hold for an access to run, and all that is known of its address."""
        address = [at_least(case.offset) for case in access.pointer.cases]
        return self._whole(_conditions(access.path, access.mask), address)

    def bounds(self, access: SymbolicAccess) -> Conclusion:
        """Return whether an access stays in its buffer, for all sizes."""
        under = Statements()
        for case in access.pointer.cases:
            if not isinstance(case.base, str):
                reason = case.why_unknown or "an address that belongs to no argument"
                return Conclusion("unknown", reason=reason)
            extent = self.contract.extents.get(case.base)
            if extent is None:
                reason = f"the contract does not say how many elements {case.base} has"
                return Conclusion("unknown", reason=reason)
            conditions = _conditions(access.path, access.mask, case.condition)
            goals = [at_least(case.offset), at_least(extent, case.offset + 1)]
            other_goals = [*goals, *self._integer_goals(access)]
            for goal in goals:
                made = self._answer(goal, conditions, other_goals)
                if made.verdict != "proved":
                    return Conclusion(made.verdict, reason=made.reason, model=made.model, case=case)
                under |= made.under
            under |= {f"{case.base}: its extent"}
        return Conclusion("proved", under)

    def overflow(self, access: SymbolicAccess) -> Conclusion:
        """Return whether every integer of an access is exact, wherever it counts."""
        under = Statements()
        masks = sorted(access.mask_checks, key=_order)
        addresses = sorted(access.address_checks, key=_order)
        first: Conclusion | None = None
        refuted: list[Conclusion] = []
        for check in (*masks, *addresses):
            made = self.check(check, None if check in access.mask_checks else access)
            if made.verdict == "refuted":
                refuted.append(made)
            elif made.verdict == "unknown":
                first = first or made
            under |= made.under
            if len(refuted) == _MAX_REFUTED:
                break
        if refuted:  # of a product and a sum that wrap, the one that does so first
            return min(refuted, key=self._size_of)
        unknown = next((case for case in access.pointer.cases if case.base is None), None)
        if unknown is not None:  # integers that it is computed from were not read
            first = first or Conclusion("unknown", reason=unknown.why_unknown)
        return first or Conclusion("proved", under)

    def _integer_goals(self, access: SymbolicAccess) -> list[Formula]:
        """Return the goals of an access's integers, for one question about all of them.

        Those of loops that are over are left out: facts about their turns hold in the loop alone,
        and would say here that it was not empty.
        """
        around = self.evaluator.structure.loops_around(access.operation)
        goals = (
            goal for check in sorted(access.address_checks, key=_order) for goal in check.goals
        )
        return [goal for goal in goals if goal != TRUE and self.unknowns.loops_of([goal]) <= around]

    def _size_of(self, conclusion: Conclusion) -> int:
        model = conclusion.model
        return sum(model[text] for text in self.contract.sizes) if model is not None else 0

    def check(self, check: Check, access: SymbolicAccess | None) -> Conclusion:
        """Return whether one integer is exact: wherever it is computed, or where `access` runs."""
        conditions = _conditions(self.evaluator.path(check.path), check.condition)
        if access is not None:
            # in an earlier turn the access may not have run: only what is the same in all turns
            around = (part for formula in (access.path, access.mask) for part in conjuncts(formula))
            shared = (part for part in around if not self.unknowns.loops_of([part]) & check.earlier)
            conditions = _conditions(*conditions, *shared)
        key = check, conditions
        if key not in self._checked:
            self._checked[key] = self._check_conclusion(check, access, conditions)
        return self._checked[key]

    def _check_conclusion(
        self, check: Check, access: SymbolicAccess | None, conditions: tuple[Formula, ...]
    ) -> Conclusion:
        under = Statements()
        other_goals = list(check.goals)
        if access is not None:
            other_goals += self._integer_goals(access)
            case = access.pointer.cases[0]
            if len(access.pointer.cases) == 1 and case.base in self.contract.extents:
                extent = self.contract.extents[str(case.base)]
                other_goals += [at_least(case.offset), at_least(extent, case.offset + 1)]
        for goal in check.goals:
            made = self._answer(goal, conditions, other_goals)
            if made.verdict == "refuted" and self.may_be_unsigned(check):
                made = self._broken_as_either(check, conditions)
            if made.verdict != "proved":
                return Conclusion(made.verdict, reason=made.reason, model=made.model, check=check)
            under |= made.under
        if self.may_be_unsigned(check) and self._looks_negative(check, conditions):
            return Conclusion("unknown", reason=_LOOKS_NEGATIVE, check=check)
        return Conclusion("proved", under, check=check)

    def _looks_negative(self, check: Check, conditions: tuple[Formula, ...]) -> bool:
        """Return whether an unsigned number, of which an integer is made, may look negative."""
        pending, seen = sorted(check.result.names), set[str]()
        for text in pending:
            known = self.unknowns.known.get(text)
            if text in seen or known is None or known.range.low >= 0:
                continue
            seen.add(text)
            loaded = self.evaluator.loaded.get(text)
            is_unsigned = loaded is not None and loaded.is_unsigned
            if is_unsigned and self.shown(at_least(name(text)), conditions) is None:
                return True
            pending += sorted(inner for fact in known.facts for inner in names_of(fact))
        return False

    def may_be_unsigned(self, check: Check) -> bool:
        """Return whether an integer that is checked may be an unsigned one: TTIR does not tell."""
        if check.kind != "overflow" or check.operation.regions:
            return False
        if self._signed is None:
            self._signed = read_as_signed(self.evaluator.structure)
        return not self._signed.intersection(check.operation.results)

    def _broken_as_either(self, check: Check, conditions: tuple[Formula, ...]) -> Conclusion:
        """Return the sizes at which an integer fits neither a signed nor an unsigned one.

        What a buffer of unsigned integers holds may look negative: only a run tells that apart.
        """
        made = Conclusion("unknown", reason=_MAY_BE_UNSIGNED)
        half = 1 << (check.bits - 1)
        for beyond in (at_least(check.result, 2 * half), at_least(-half - 1, check.result)):
            broken = self.broken([beyond, *conditions], _MAY_BE_UNSIGNED)
            if broken.verdict == "refuted":
                return broken
        return made

    def _answer(
        self, goal: Formula, conditions: tuple[Formula, ...], other_goals: Sequence[Formula]
    ) -> Conclusion:
        under = self.shown(goal, conditions, other_goals)
        if under is not None:
            return Conclusion("proved", under)
        return self.broken(
            [opposite(goal), *conditions], "no proof was found, and no sizes break it"
        )

    def shown(
        self, goal: Formula, conditions: Sequence[Formula], other_goals: Sequence[Formula] = ()
    ) -> Statements | None:
        """Prove `goal` where `conditions` hold; None where no proof is found."""
        key = goal, tuple(conditions)
        if key not in self._shown:
            used = self.linear.evidence(goal, conditions, other_goals)
            self._shown[key] = None if used is None else self.linear.labels(used)
        return self._shown[key]

    def broken(self, formulas: Sequence[Formula], otherwise: str) -> Conclusion:
        """Return the sizes that keep `formulas`, which break something, or why it is unknown."""
        reason = self._origins(formulas)
        model = self._model(formulas)
        if model is None:
            return Conclusion("unknown", reason=reason or otherwise)
        if reason:
            return Conclusion("unknown", reason=reason, model=model)
        return Conclusion("refuted", model=model)

    def _model(self, formulas: Sequence[Formula]) -> Model | None:
        # a minimum of loaded values may have been decided by a range that no value keeps
        decided = [formula for formula, _ in self.unknowns.decided]
        whole = self._whole(formulas, decided)
        return smallest_witness(whole, self.contract.sizes, self.linear.effort)

    def _whole(self, formulas: Sequence[Formula], others: Sequence[Formula] = ()) -> list[Formula]:
        """Return formulas with all that is known of their names, and of those in `others`."""
        conditions = tuple(part for formula in formulas for part in conjuncts(formula))
        facts = [fact.formula for fact in self.linear.known(others, conditions)]
        parts = (part for formula in (*formulas, *facts) for part in conjuncts(formula))
        return list(dict.fromkeys(parts))

    def _origins(self, formulas: Sequence[Formula]) -> str:
        """Return where formulas depend on what only data knows."""
        pending = [text for formula in formulas for text in names_of(formula)]
        seen: set[str] = set()
        origins: set[str] = set()
        while pending:
            text = pending.pop()
            if text in seen or text not in self.unknowns.known:
                continue
            seen.add(text)
            unknown = self.unknowns.known[text]
            if unknown.origin is not None:
                origins.add(unknown.origin)
            pending += [inner for fact in unknown.facts for inner in names_of(fact)]
        return "it depends on " + ", and on ".join(sorted(origins)) if origins else ""


def _conditions(*formulas: Formula) -> tuple[Formula, ...]:
    return tuple(dict.fromkeys(formula for formula in formulas if formula != TRUE))


def _order(check: Check) -> tuple[int, str]:
    first = check.operation.locations[0].line if check.operation.locations else 0
    return first, check.result.text()
