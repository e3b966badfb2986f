"""Reads loops: the turn and the counter of each, how many turns it makes, and what it carries.

A carried value is its start plus one step per turn, where it grows alike in each turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from compiler.proof.logic import TRUE, Formula, Truth, at_least, both, either, equal_parts, replaced
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.ranges import Range
from compiler.proof.structure import Owner
from compiler.proof.terms import (
    Check,
    Indices,
    Path,
    PointerCase,
    SymbolicPointer,
    Term,
    at_line,
    bits_of_element,
)
from compiler.proof.unknowns import INFINITY
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, pointee_of

if TYPE_CHECKING:
    from compiler.proof.evaluator import Evaluator


@dataclass(frozen=True)
class Loop:
    """One loop: the name of its turn, its counter, and what must hold for both to be exact."""

    turn: str
    counter: Polynomial
    checks: frozenset[Check]
    runs: tuple[Formula, ...] = ()
    """The facts of its body; outside, nothing is known of the turn, since there may be none."""


@dataclass
class Loops:
    """The loops of one kernel."""

    evaluator: Evaluator
    _known: dict[Operation, Loop] = field(default_factory=dict)
    _trips: dict[Operation, Polynomial] = field(default_factory=dict)

    def of(self, operation: Operation) -> Loop:
        """Return the turn of a loop, its counter, and what holds in its body."""
        if operation not in self._known:
            with self.evaluator.collecting() as inner:
                low, high, step = (
                    self.evaluator.integer(bound) for bound in operation.operands[:3]
                )
            loops = self.evaluator.structure.loops_around(operation) | {operation}
            turn = self.evaluator.unknowns.fresh("turn", Range(0, INFINITY), loops=loops)
            counter = low + name(turn) * step
            known = self.evaluator.unknowns.known[turn]
            runs = at_least(name(turn)), at_least(high, counter + 1)
            if step.constant is not None and step.constant > 0:
                # the last turn, if there is any
                length = self.evaluator.unknowns.range(high - low - 1)
                if length.high < INFINITY:
                    last = max(length.high // step.constant, 0)
                    known.range = Range(0, last, high_under=length.high_under)
            bits = bits_of_element(operation.operands[0].type)
            body: Path = (*self.evaluator.structure.paths[operation], ("for", operation, 0))
            checks = inner | {
                Check("overflow", operation, counter + step, bits, body),
                Check("step", operation, step, bits, self.evaluator.structure.paths[operation]),
            }
            self._known[operation] = Loop(turn, counter, frozenset(checks), runs)
        loop = self._known[operation]
        self.evaluator.note(loop.checks)
        return loop

    def while_turn(self, operation: Operation) -> str:
        """Return the turn of a while loop."""
        if operation not in self._known:
            loops = self.evaluator.structure.loops_around(operation) | {operation}
            turn = self.evaluator.unknowns.fresh("turn", Range(0, INFINITY), loops=loops)
            self._known[operation] = Loop(turn, name(turn), frozenset())
        return self._known[operation].turn

    def trips(self, operation: Operation) -> Polynomial:
        """Return how many turns a loop makes, which its counter and its step decide."""
        self.of(operation)
        if operation not in self._trips:
            low, high, step = (self.evaluator.integer(bound) for bound in operation.operands[:3])
            loops = self.evaluator.structure.loops_around(operation)
            made = name(self.evaluator.unknowns.fresh("trips", Range(0, INFINITY), loops=loops))
            [text] = made.names
            some = both(
                at_least(step, 1),
                at_least(high, low + 1),
                at_least(made, 1),
                at_least(low + made * step, high),
                at_least(high, low + (made - 1) * step + 1),
            )
            none = both(at_least(low, high), *equal_parts(made, lift(0)))
            endless = both(at_least(0, step), at_least(high, low + 1))
            self.evaluator.unknowns.known[text].facts = [
                at_least(made),
                either(none, some, endless),
            ]
            self._trips[operation] = made
        return self._trips[operation]

    def carried(
        self,
        argument: Value,
        indices: Indices,
        start: Value,
        following: Value,
        owner: Owner,
        turn: Polynomial,
    ) -> Term:
        """Return a value that a loop carries, where it grows alike in each turn."""
        loop = owner.operation
        first = self.evaluator.term(start, indices)
        following_value = self._next(argument, indices, following, loop)
        if following_value is None:
            return self._some_value(argument, loop)
        me, after, checks = following_value
        mine = me.names if isinstance(me, Polynomial) else frozenset()
        on_the_way = [check for check in checks if check.result.names & mine]
        self.evaluator.note(
            self._of_earlier_turns(check, loop, turn)
            for check in checks
            if not check.result.names & mine
        )
        step = self._step(argument, me, after, loop)
        if step is not None and isinstance(first, SymbolicPointer):
            return first.moved(turn * step)
        if step is None or not isinstance(first, Polynomial) or not isinstance(me, Polynomial):
            if step == lift(0):
                return first
            made = self._some_value(argument, loop)
            if isinstance(made, Polynomial) and isinstance(me, Polynomial):
                self._note_on_the_way(on_the_way, me, made, loop)
            return made
        bits = bits_of_element(element_of(argument.type))
        # the next value itself is checked in closed form, where it counts
        is_next = following.made_by, bits, after
        self._note_on_the_way(
            (
                check
                for check in on_the_way
                if (check.operation, check.bits, check.result) != is_next
            ),
            me,
            first + self._turn_of(loop) * step,
            loop,
        )
        made = first + turn * step
        if step != lift(0):
            path: Path = self.evaluator.structure.paths[loop]
            if loop in self.evaluator.unknowns.loops_of([turn]):
                path = (*path, ("for" if loop.name == "scf.for" else "while", loop, 0))
            self.evaluator.note([Check("overflow", following.made_by or loop, made, bits, path)])
        return made

    def _some_value(self, argument: Value, loop: Operation) -> Term:
        return self.evaluator.unknown(argument, f"a value that the loop{at_line(loop)} carries")

    def _next(
        self, argument: Value, indices: Indices, following: Value, loop: Operation
    ) -> tuple[Term, Term, frozenset[Check]] | None:
        """Return a symbol for what a loop carries, the next value, and its checks."""
        key = argument, indices
        me = self._symbol(argument, loop)
        if me is None or self.evaluator.stands_for(key):  # they depend on each other
            return None
        with self.evaluator.standing_for(key, me), self.evaluator.collecting() as checks:
            after = self.evaluator.term(following, indices)
        return me, after, frozenset(checks)

    def _step(self, argument: Value, me: Term, after: Term, loop: Operation) -> Polynomial | None:
        """Return by how much the carried value grows in a turn, None if turns differ."""
        step: Polynomial | None = None
        if after == me:
            step = lift(0)
        elif isinstance(me, SymbolicPointer) and isinstance(after, SymbolicPointer):
            if len(after.cases) == 1 and after.cases[0].base is argument:
                step = after.cases[0].offset
        elif isinstance(me, Polynomial) and isinstance(after, Polynomial):
            step = after - me
        return None if step is None or loop in self.evaluator.unknowns.loops_of([step]) else step

    def _of_earlier_turns(self, check: Check, loop: Operation, turn: Polynomial) -> Check:
        """Return a check of the values that earlier turns computed.

        It holds for any turn, so for the earlier ones. Where it is the same in all turns, it only
        counts after the first.
        """
        earlier = replace(check, earlier=check.earlier | {loop})
        inside = [number for number, (_, around, _) in enumerate(check.path) if around is loop]
        is_conditional = inside and (inside[0] + 1 < len(check.path) or check.path[-1][2] != 0)
        names = check.result, check.condition
        if is_conditional or loop in self.evaluator.unknowns.loops_of(names):
            return earlier
        return replace(earlier, condition=both(check.condition, at_least(turn, 1)))

    def _note_on_the_way(
        self, checks: Iterable[Check], me: Polynomial, made: Polynomial, loop: Operation
    ) -> None:
        """Note what must be exact between a carried value, which is `made`, and the next."""
        [mine] = me.names
        self.evaluator.note(
            replace(
                check,
                result=check.result.replaced(mine, made),
                condition=replaced(check.condition, mine, made),
                earlier=check.earlier | {loop},
            )
            for check in checks
        )

    def _turn_of(self, loop: Operation) -> Polynomial:
        is_for = loop.name == "scf.for"
        return name(self.of(loop).turn if is_for else self.while_turn(loop))

    def _symbol(self, argument: Value, loop: Operation) -> Term | None:
        """Return a name for what a loop carries, while its step is looked for."""
        if pointee_of(argument.type) is not None:
            return SymbolicPointer((PointerCase(TRUE, argument, lift(0)),))
        element = element_of(argument.type)
        loops = self.evaluator.structure.loops_around(loop) | {loop}
        if element == "i1":
            return Truth(self.evaluator.unknowns.fresh("carried", Range(0, 1), loops=loops), True)
        if element[0] != "i":
            return None
        return name(self.evaluator.unknowns.fresh("carried", loops=loops))
