"""Writes what was proved of one kernel as certificates, which a checker verifies by itself.

A certificate is plain lists of numbers and words. `entries` are statements, which it begins with,
and claims, each with its steps; an entry only relies on earlier ones. The format stands in
`proofs/worker/certificate_checker.py`, which shares no code with this package.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from compiler.proof.grounds import (
    Always,
    CaseSplit,
    Clash,
    Contradiction,
    Ground,
    Lemma,
    PartOf,
    Premise,
    Product,
    Refutation,
    Replaced,
    Stated,
    Unexplained,
)
from compiler.proof.linear import GoalEvidence
from compiler.proof.logic import AtLeastZero, Formula, Truth, conjuncts
from compiler.proof.polynomial import Polynomial
from compiler.proof.refuting import refutation
from compiler.proof.solver import Effort

Wire = list[Any]


class _NoSteps(Exception):
    """Only the solver says so; `reasons` are what it said it of."""

    def __init__(self, reasons: Iterable[Ground]) -> None:
        super().__init__()
        self.reasons = tuple(reasons)


@dataclass
class _Entry:
    wire: dict[str, Any]
    relies_on: frozenset[int]
    labels: frozenset[str]


@dataclass
class Ledger:
    """The statements and claims of one kernel. `always` shows a formula from the contract alone."""

    effort: Effort
    always: Callable[[Formula], GoalEvidence | None]
    names: dict[str, int] = field(default_factory=dict)
    entries: list[_Entry] = field(default_factory=list)
    _statements: dict[Premise, int] = field(default_factory=dict)
    _always: dict[Formula, int | None] = field(default_factory=dict)

    def claim(self, evidence: GoalEvidence) -> int:
        """Add a claim, and return its number. It has no proof where only the solver knows one."""
        writer = _Writer(self)
        try:
            proof = writer.claim(evidence)
            used = writer.used
        except _NoSteps as none:
            proof = None
            by = evidence.by if isinstance(evidence.by, tuple) else ()
            used = self._stated_in((*by, *none.reasons))
        return self._add({"claim": self.formula(evidence.goal), "proof": proof}, used)

    def labels(self, numbers: Iterable[int]) -> frozenset[str]:
        """Return the statements of the contract that entries rest on."""
        found = (self.entries[number].labels for number in numbers)
        return frozenset().union(*found) - {""}

    def written(self, numbers: Iterable[int]) -> str:
        """Return entries as JSON, with all that they rely on. Numbers of others are left out."""
        wanted: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number not in wanted:
                wanted.add(number)
                pending += self.entries[number].relies_on
        entries = {str(number): self.entries[number].wire for number in sorted(wanted)}
        made = {"names": list(self.names), "entries": entries}
        return json.dumps(made, separators=(",", ":"))

    def _add(self, wire: dict[str, Any], used: Iterable[int], label: str = "") -> int:
        relies_on = frozenset(used)
        self.entries.append(_Entry(wire, relies_on, self.labels(relies_on) | {label}))
        return len(self.entries) - 1

    def statement(self, statement: Premise) -> int:
        """Return the number of a statement."""
        if statement not in self._statements:
            needs = sorted({self.shown(one) for one in statement.needs})
            said = self.formula(statement.formula)
            wire = {"statement": said, "why": statement.why, "needs": needs}
            self._statements[statement] = self._add(wire, needs, statement.label)
        return self._statements[statement]

    def shown(self, formula: Formula) -> int:
        """Return the number of a claim that holds everywhere."""
        if formula not in self._always:
            self._always[formula] = None
            evidence = self.always(formula)
            wire = {"claim": self.formula(formula), "proof": None}
            self._always[formula] = (
                self._add(wire, ()) if evidence is None else self.claim(evidence)
            )
        number = self._always[formula]
        if number is None:  # it would rely on itself
            return self._add({"claim": self.formula(formula), "proof": None}, ())
        return number

    def _stated_in(self, reasons: Iterable[Ground]) -> set[int]:
        found: set[int] = set()
        pending = list(reasons)
        while pending:
            match pending.pop():
                case Stated(_, statement):
                    found.add(self.statement(statement))
                case Always(formula):
                    found.add(self.shown(formula))
                case PartOf(_, of, _):
                    pending.append(of)
                case Product(_, factors):
                    pending += factors
                case Replaced(_, of, _, equality):
                    pending += (of, *equality)
                case Lemma(_, _, by):
                    pending += by
        return found

    def formula(self, formula: Formula) -> Wire:
        """Return a formula as lists."""
        match formula:
            case AtLeastZero(polynomial):
                return [">=", self.polynomial(polynomial)]
            case Truth(name, is_true):
                return ["is" if is_true else "not", self.name(name)]
        return [formula.word, [self.formula(part) for part in formula.parts]]

    def polynomial(self, polynomial: Polynomial) -> Wire:
        """Return a polynomial as lists: a factor, then the numbers of its names."""
        return [
            [factor, *map(self.name, monomial)] for monomial, factor in polynomial.terms.items()
        ]

    def name(self, text: str) -> int:
        """Return the number of a name."""
        return self.names.setdefault(text, len(self.names))


@dataclass
class _Writer:
    """Writes the steps of one claim. A formula is named by how many are known before it."""

    ledger: Ledger
    used: set[int] = field(default_factory=set)
    _count: int = 0
    _at: dict[object, int] = field(default_factory=dict)
    _steps: Wire = field(default_factory=list)

    def claim(self, evidence: GoalEvidence) -> Wire:
        """Return the steps of a claim. Raises _NoSteps."""
        return self._node(evidence.denied, evidence.by)

    def _node(self, assumed: Ground, by: tuple[Ground, ...] | Refutation) -> Wire:
        """Return steps that contradict what is assumed."""
        if isinstance(by, tuple):
            by = refutation(by, self.ledger.effort) or Unexplained(by)
        count, at, steps = self._count, dict(self._at), self._steps
        self._steps = []
        self._know(assumed, assumed.formula)
        node = [self._steps, self._end(by)]
        self._count, self._at, self._steps = count, at, steps
        return node

    def _end(self, by: Refutation) -> Wire:
        match by:
            case Contradiction(terms):
                return ["sum", [[times, self._number(reason)] for times, reason in terms]]
            case Clash(first, second):
                return ["clash", self._number(first), self._number(second)]
            case CaseSplit(of, ways):
                number = self._number(of)
                return ["cases", number, [self._node(case, inner) for case, inner in ways]]
        raise _NoSteps(by.reasons)

    def _know(self, key: object, formula: Formula) -> int:
        """Note that a formula's parts are known from here on; return the first one's number."""
        self._at[key] = self._count
        self._count += len(conjuncts(formula))
        return self._at[key]

    def _number(self, reason: Ground) -> int:
        """Return the number of a formula, after the steps that show it."""
        key = reason.statement if isinstance(reason, Stated) else reason
        if key not in self._at:
            if isinstance(reason, PartOf):
                return self._number(reason.of) + reason.number
            step = self._step(reason)  # its own steps come before
            self._steps.append(step)
            self._know(key, reason.formula)
        return self._at[key]

    def _step(self, reason: Ground) -> Wire:
        match reason:
            case Stated(_, statement):
                return self._entry(self.ledger.statement(statement))
            case Always(formula):
                return self._entry(self.ledger.shown(formula))
            case Product(_, (one, other)):
                return ["product", self._number(one), self._number(other)]
            case Replaced(_, of, name, (low, high)):
                numbers = [self._number(one) for one in (of, low, high)]
                return ["replace", *numbers, self.ledger.name(name)]
            case Lemma(formula, denied, by):
                return ["lemma", self.ledger.formula(formula), self._node(denied, by)]
        raise AssertionError(f"{type(reason).__name__} is known where it is used")

    def _entry(self, number: int) -> Wire:
        self.used.add(number)
        return ["entry", number]
