"""z3, as far as proofs need it: questions as SMT-LIB text, effort bounded by counts, not by time.

Each monomial is one integer for linear questions, and a product of integers for the others.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import z3
from z3 import z3core

from compiler.proof.logic import AtLeastZero, Formula, Truth
from compiler.proof.polynomial import Monomial, Polynomial
from compiler.proof.proof_limits import (
    MAX_QUERIES,
    MAX_SOLVER_MIB,
    QUERY_EFFORT,
    SHRINKING_EFFORT,
    SOLVER_MIB,
    TOTAL_EFFORT,
    ProofLimitReached,
)

Outcome = Literal["unsat", "sat", "unknown"]


def prepare() -> None:
    """Bound the memory of z3, and have it use no thread."""
    z3.set_param("memory_max_size", SOLVER_MIB)
    z3.set_param("parallel.enable", False)


@dataclass
class Effort:
    """The cost of all questions about one kernel, in z3's own count, which never falls."""

    spent: int = 0
    questions: int = 0
    _before: int | None = None
    _is_full: bool = False

    def check(self) -> None:
        """Raise ProofLimitReached if no further question may be asked."""
        if self.questions > MAX_QUERIES or self.spent > TOTAL_EFFORT:
            raise ProofLimitReached("the proof takes more effort than one kernel may")
        if self._takes_too_much:
            raise ProofLimitReached("the proof takes more memory than one kernel may")

    def note(self, solver: z3.Solver) -> None:
        """Count one question. Raises as `check` does."""
        self.questions += 1
        count = _effort_so_far(solver.statistics())
        if count is not None:
            self.spent += 0 if self._before is None else max(count - self._before, 0)
            self._before = count
        self.check()

    @property
    def _takes_too_much(self) -> bool:
        if not self._is_full and _has_reached_memory_limit():
            gc.collect()  # z3 counts the whole process: earlier proofs are cycles until collected
            self._is_full = _has_reached_memory_limit()
        return self._is_full


def _has_reached_memory_limit() -> bool:
    return bool(z3core.Z3_get_estimated_alloc_size() > MAX_SOLVER_MIB << 20)


def _effort_so_far(statistics: z3.Statistics) -> int | None:
    """Return z3's count of its effort; None before it has one."""
    context, counts = statistics.ctx.ref(), statistics.stats
    for number in reversed(range(len(statistics))):  # it is one of the last of 50
        if z3core.Z3_stats_get_key(context, counts, number) == "rlimit count":
            return int(statistics[number][1])
    return None


@dataclass
class Script:
    """Assertions as text; monomials are `v0`, `v1`, ..., truth values `b0`, `b1`, ..."""

    variables: dict[Monomial, str] = field(default_factory=dict)
    truths: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    is_linear: bool = True
    _integers: int = 0
    _truths: int = 0

    def formula(self, formula: Formula) -> str:
        """Return a formula as text."""
        match formula:
            case AtLeastZero(polynomial):
                return self.at_least_zero(polynomial)
            case Truth(name, is_true):
                text = self.truths.setdefault(name, f"b{len(self.truths)}")
                return text if is_true else f"(not {text})"
        if not formula.parts:
            return "true" if formula.word == "and" else "false"
        return f"({formula.word} {' '.join(map(self.formula, formula.parts))})"

    def at_least_zero(self, polynomial: Polynomial) -> str:
        """Return `polynomial >= 0` as text."""
        parts = []
        constant = 0
        for monomial, factor in polynomial.terms.items():
            if not monomial:
                constant = factor
                continue
            text = self._monomial(monomial)
            parts.append(text if factor == 1 else f"(* {_number(factor)} {text})")
        if not parts:
            return "true" if constant >= 0 else "false"
        total = parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"
        return f"(>= {total} {_number(-constant)})"

    def _monomial(self, monomial: Monomial) -> str:
        if self.is_linear or len(monomial) == 1:
            return self.variables.setdefault(monomial, f"v{len(self.variables)}")
        factors = [self._monomial((name,)) for name in monomial]
        return f"(* {' '.join(factors)})"

    def declarations(self) -> str:
        """Return the declarations of names that are new since the last call."""
        integers = [f"(declare-const {text} Int)" for text in self.variables.values()]
        truths = [f"(declare-const {text} Bool)" for text in self.truths.values()]
        new = [*integers[self._integers :], *truths[self._truths :]]
        self._integers, self._truths = len(integers), len(truths)
        return "\n".join(new)


_GUARDS: list[z3.BoolRef] = []
"""The truth values `a0`, `a1`, ... that guard assertions. They are kept, as each takes a while."""
_NUMBERS: dict[int, int] = {}
"""The number of each guard, by z3's number of it."""


def _guards(size: int) -> list[z3.BoolRef]:
    for number in range(len(_GUARDS), size):
        guard = z3.Bool(f"a{number}")
        _GUARDS.append(guard)
        _NUMBERS[guard.get_id()] = number
    return _GUARDS[:size]


@dataclass
class LinearQuestion:
    """Assertions, each with a number; a question adds some that are denied, and takes them back."""

    effort: Effort
    script: Script = field(default_factory=Script)
    _solver: z3.Solver = field(default_factory=lambda: z3.SolverFor("QF_LIA"))
    _assertions: list[str] = field(default_factory=list)

    def add(self, formula: Formula) -> None:
        """Assert a formula; its number is how many were asserted before."""
        guard = f"a{len(self._assertions)}"
        text = self.script.formula(formula)
        self._assertions.append(f"(declare-const {guard} Bool)(assert (=> {guard} {text}))")

    def load(self) -> None:
        """Hand what was asserted to the solver. Raises ProofLimitReached."""
        self.effort.check()
        self._solver.set("rlimit", QUERY_EFFORT)
        self._solver.from_string("\n".join([self.script.declarations(), *self._assertions]))

    def refutes(
        self, denied: Sequence[Formula], groups: Sequence[frozenset[int]] = ()
    ) -> frozenset[int] | None:
        """Return the numbers of assertions that contradict `denied`; None where they may not.

        Of `groups`, those are left out, one after the other, that the rest can do without.
        """
        self._solver.push()
        try:
            lines = [f"(assert {self.script.formula(formula)})" for formula in denied]
            self._solver.from_string("\n".join([self.script.declarations(), *lines]))
            core = self._core(frozenset())
            if core is None or not any(core & group for group in groups):
                return core
            self._solver.set("rlimit", SHRINKING_EFFORT)
            left_out = frozenset[int]()
            for group in groups:
                if core & group:
                    smaller = self._core(left_out | group)
                    if smaller is not None:
                        core, left_out = smaller, left_out | group
            return core
        finally:
            self._solver.set("rlimit", QUERY_EFFORT)
            self._solver.pop()

    def _core(self, left_out: frozenset[int]) -> frozenset[int] | None:
        size = len(self._assertions)
        guards = [guard for number, guard in enumerate(_guards(size)) if number not in left_out]
        # Solver.check looks at the sort of each guard, which takes longer than most answers
        terms = (z3.Ast * len(guards))(*(guard.as_ast() for guard in guards))
        context = self._solver.ctx.ref()
        answer = z3core.Z3_solver_check_assumptions(
            context, self._solver.solver, len(guards), terms
        )
        self.effort.note(self._solver)
        if answer != z3.Z3_L_FALSE:
            return None
        return frozenset(_NUMBERS[guard.get_id()] for guard in self._solver.unsat_core())


@dataclass
class Model:
    """Integers by name, and truth values as 0 and 1; 0 for a name that does not matter."""

    values: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.values.get(name, 0)

    def __contains__(self, name: str) -> bool:
        return name in self.values


@dataclass
class WitnessSearch:
    """Looks for integers that keep formulas with products; bounds can be added and taken back."""

    effort: Effort
    formulas: Sequence[Formula]
    effort_each: int
    _solver: z3.Solver = field(default_factory=z3.Solver)
    _names: dict[str, z3.ArithRef] = field(default_factory=dict)
    _script: Script = field(default_factory=lambda: Script(is_linear=False))

    def __post_init__(self) -> None:
        self.effort.check()
        lines = [f"(assert {self._script.formula(formula)})" for formula in self.formulas]
        self._solver.set("rlimit", self.effort_each)
        self._solver.from_string("\n".join([self._script.declarations(), *lines]))

    def check(self) -> Outcome:
        """Return whether there are such integers."""
        answer = self._solver.check()
        self.effort.note(self._solver)
        return "sat" if answer == z3.sat else "unsat" if answer == z3.unsat else "unknown"

    def push(self, bounds: Iterable[tuple[str, int]]) -> None:
        """Ask for values of at most these, until `pop`."""
        self._solver.push()
        for name, most in bounds:
            self._solver.add(self._integer(name) <= most)

    def pop(self) -> None:
        """Take the last bounds back."""
        self._solver.pop()

    def model(self) -> Model:
        """Return the integers of the last answer `sat`."""
        model = self._solver.model()
        values: dict[str, int] = {}
        by_text = {text: monomial[0] for monomial, text in self._script.variables.items()}
        by_text |= {text: name for name, text in self._script.truths.items()}
        for declared in model.decls():
            value = model[declared]
            name = by_text.get(declared.name())
            if z3.is_bool(value) and name is not None:
                values[name] = int(z3.is_true(value))
            elif name is not None:  # a truth value is an integer of 0 or 1, too
                values.setdefault(name, value.as_long())
        return Model(values)

    def _integer(self, name: str) -> z3.ArithRef:
        if name not in self._names:
            self._names[name] = z3.Int(
                self._script.variables.setdefault((name,), f"v{len(self._script.variables)}")
            )
        return self._names[name]


def _number(value: int) -> str:
    """Return a number as text of SMT-LIB."""
    return str(value) if value >= 0 else f"(- {-value})"
