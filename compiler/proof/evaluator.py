"""Reads a value of TTIR as a formula over symbolic sizes, backwards from where it is used.

A tensor is a function of its indices, so what no address or mask needs, such as all floating point,
is never looked at. Integers are mathematical: each operation of limited width leaves a `Check` that
its result fits, to be proved on its own. What no formula can say becomes an unknown, with its
origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from compiler.proof import operations
from compiler.proof.logic import (
    FALSE,
    TRUE,
    AtLeastZero,
    Compound,
    Formula,
    Truth,
    at_least,
    both,
    either,
    equal,
    opposite,
)
from compiler.proof.polynomial import Interval, Polynomial, lift, name
from compiler.proof.proof_limits import MOST_TERMS_READ, ProofLimitReached, Unsupported
from compiler.proof.structure import Edge, Owner, Structure
from compiler.proof.terms import (
    Check,
    Indices,
    LoadedValue,
    Path,
    PointerCase,
    SymbolicPointer,
    Term,
    bits_of_element,
    line_of,
)
from compiler.proof.unknowns import EVERYTHING, INFINITY, Unknowns
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, pointee_of

_Key = tuple[Value, Indices]


@dataclass(frozen=True)
class _Loop:
    turn: str
    counter: Polynomial
    checks: frozenset[Check]


@dataclass
class Evaluator:
    """Reads values of one kernel. `fixed` are scalars and grid sizes that are expressions.

    `value_ranges` holds from where to where the values of buffers go, which no store may reach.
    """

    structure: Structure
    unknowns: Unknowns
    fixed: Mapping[str, Polynomial] = field(default_factory=dict)
    grid: tuple[Polynomial, ...] = ()
    value_ranges: Mapping[str, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    loaded: dict[str, LoadedValue] = field(default_factory=dict)
    _memo: list[dict[_Key, tuple[Term, frozenset[Check]]]] = field(default_factory=lambda: [{}])
    _checks: list[set[Check]] = field(default_factory=lambda: [set()])
    _symbolic: dict[_Key, Term] = field(default_factory=dict)
    _loops: dict[Operation, _Loop] = field(default_factory=dict)
    _trips: dict[Operation, Polynomial] = field(default_factory=dict)
    _read: int = 0

    # values

    def term(self, value: Value, indices: Indices = ()) -> Term:
        """Return what `value` is at `indices`. Raises Unsupported, ProofLimitReached."""
        key = value, indices
        if key in self._symbolic:
            return self._symbolic[key]
        memo = self._memo[-1]
        if key not in memo:
            self._read += 1
            if self._read > MOST_TERMS_READ:
                raise ProofLimitReached(f"its addresses need more than {MOST_TERMS_READ:,} values")
            with self.collecting() as checks:
                made = self._term(value, indices)
            memo[key] = made, frozenset(checks)
        made, found = memo[key]
        self._checks[-1] |= found
        return made

    def integer(self, value: Value, indices: Indices = ()) -> Polynomial:
        """Return an integer value."""
        made = self.term(value, indices)
        if isinstance(made, Polynomial):
            return made
        if isinstance(made, SymbolicPointer):
            raise Unsupported("an integer that is made of a pointer", _line(value))
        return self.unknowns.either(made, lift(1), lift(0))

    def truth(self, value: Value, indices: Indices = ()) -> Formula:
        """Return a truth value."""
        made = self.term(value, indices)
        if isinstance(made, AtLeastZero | Truth | Compound):
            return made
        raise Unsupported("a condition that is no i1", _line(value))

    def pointer(self, value: Value, indices: Indices = ()) -> SymbolicPointer:
        """Return a pointer."""
        made = self.term(value, indices)
        if isinstance(made, SymbolicPointer):
            return made
        raise Unsupported("an address that is no pointer", _line(value))

    @contextmanager
    def collecting(self) -> Iterator[set[Check]]:
        """Collect the checks of what is read inside, and keep them from what is around it."""
        found: set[Check] = set()
        self._checks.append(found)
        try:
            yield found
        finally:
            self._checks.pop()

    def check(self, operation: Operation, value: Value, result: Polynomial) -> Polynomial:
        """Note that `result` must fit the type of `value`, and return it."""
        bits = bits_of_element(element_of(value.type))
        low, high = result.interval(self.unknowns.interval) if not result.names else EVERYTHING
        half = 1 << (bits - 1)
        if not (-half <= low and high < half):
            self._note(Check("overflow", operation, result, bits, self._path_of(operation)))
        return result

    def check_divisor(self, operation: Operation, divisor: Polynomial) -> None:
        """Note that a divisor must be at least 1."""
        if divisor.constant is None or divisor.constant < 1:
            self._note(Check("divisor", operation, divisor, 64, self._path_of(operation)))

    def _note(self, check: Check) -> None:
        self._checks[-1].add(check)

    def _path_of(self, operation: Operation) -> Path:
        return self.structure.paths[operation]

    def unknown(self, value: Value, origin: str) -> Term:
        """Return some value of the type of `value`."""
        element = element_of(value.type)
        loops = self._loops_of(value)
        if element == "i1":
            return Truth(self.unknowns.fresh("truth", (0, 1), origin=origin, loops=loops), True)
        if pointee_of(value.type) is not None:
            return SymbolicPointer((PointerCase(TRUE, None, lift(0), origin),))
        if element[0] != "i" or not (element == "index" or element[1:].isdigit()):
            raise Unsupported(f"an address that depends on a value of type {element}", _line(value))
        half = 1 << (bits_of_element(element) - 1)
        bounds: Interval = (-half, half - 1)
        return name(self.unknowns.fresh("value", bounds, origin=origin, loops=loops))

    def _loops_of(self, value: Value) -> frozenset[Operation]:
        if value.made_by is not None:
            return self.structure.loops_around(value.made_by)
        owner = self.structure.owners[value]
        if owner.kind in ("function", "block"):
            return frozenset()
        return self.structure.loops_around(owner.operation) | {owner.operation}

    def _term(self, value: Value, indices: Indices) -> Term:
        operation = value.made_by
        if operation is None:
            return self._argument(value, indices)
        if operation.name in ("scf.for", "scf.while", "scf.if"):
            return self._structured(operation, value, indices)
        element = element_of(value.type)
        read = operations.READERS.get(operation.name)
        is_readable = element[0] == "i" or pointee_of(value.type) is not None
        if read is not None and is_readable:
            return read(self, operation, value, indices)
        return self.unknown(value, _origin(operation))

    def _argument(self, value: Value, indices: Indices) -> Term:
        owner = self.structure.owners[value]
        match owner.kind:
            case "function":
                return self._parameter(value)
            case "for":
                loop = self._loop(owner.operation)
                if owner.number == 0:
                    return loop.counter
                following = owner.operation.regions[0][0].end.operands[owner.number - 1]
                start = owner.operation.operands[2 + owner.number]
                return self._carried(value, indices, start, following, owner, name(loop.turn))
            case "while before":
                following = owner.operation.regions[1][0].end.operands[owner.number]
                start = owner.operation.operands[owner.number]
                turn = name(self._while_turn(owner.operation))
                return self._carried(value, indices, start, following, owner, turn)
            case "while after":
                return self.term(
                    owner.operation.regions[0][0].end.operands[1 + owner.number], indices
                )
            case "block":
                ways = self.structure.edges.get(owner.label, [])
                made = self.term(ways[0].arguments[owner.number], indices)
                for edge in ways[1:]:
                    other = self.term(edge.arguments[owner.number], indices)
                    made = self.either(self._taken(edge), other, made)
                return made
        return self.unknown(value, "a value that a reduction combines")

    def _parameter(self, value: Value) -> Term:
        if not value.name:
            raise Unsupported("a parameter without a name")
        if pointee_of(value.type) is not None:
            return SymbolicPointer((PointerCase(TRUE, value.name, lift(0)),))
        if value.name in self.fixed:
            return self.fixed[value.name]
        if value.type == "i1":
            return Truth(value.name, True)
        if value.type[0] == "i":
            return name(value.name)
        return self.unknown(value, f"the argument {value.name} of type {value.type}")

    def either(self, condition: Formula, a: Term, b: Term) -> Term:
        """Return `a` where `condition` holds, `b` elsewhere."""
        if a == b or condition == TRUE:
            return a
        if condition == FALSE:
            return b
        if isinstance(a, Polynomial) and isinstance(b, Polynomial):
            return self.unknowns.either(condition, a, b)
        if isinstance(a, SymbolicPointer) and isinstance(b, SymbolicPointer):
            first = tuple(_under(condition, case) for case in a.cases)
            return SymbolicPointer(
                first + tuple(_under(opposite(condition), case) for case in b.cases)
            )
        if isinstance(a, SymbolicPointer | Polynomial) or isinstance(
            b, SymbolicPointer | Polynomial
        ):
            raise Unsupported("a choice between values of different kinds")
        return either(both(condition, a), both(opposite(condition), b))

    # regions

    def path(self, steps: Path) -> Formula:
        """Return what holds wherever the operations of a path run."""
        parts: list[Formula] = []
        for kind, operation, which in steps:
            if kind == "for":
                parts += self.unknowns.known[self._loop(operation).turn].facts
            elif kind == "if":
                condition = self.truth(operation.operands[0])
                parts.append(condition if which == 0 else opposite(condition))
            elif kind == "while" and which == 1:
                parts.append(self.truth(operation.regions[0][0].end.operands[0]))
            elif kind == "block":
                parts.append(self._reached(str(which)))
        return both(*parts)

    def _reached(self, label: str) -> Formula:
        if label == self.structure.function.regions[0][0].label:
            return TRUE
        return either(*map(self._taken, self.structure.edges.get(label, [])))

    def _taken(self, edge: Edge) -> Formula:
        before = self._reached(edge.label)
        if edge.terminator.name == "cf.br":
            return before
        condition = self.truth(edge.terminator.operands[0])
        return both(before, condition if edge.number == 0 else opposite(condition))

    def _structured(self, operation: Operation, value: Value, indices: Indices) -> Term:
        which = operation.results.index(value)
        if operation.name == "scf.if":
            condition = self.truth(operation.operands[0])
            first, second = (
                self.term(region[0].end.operands[which], indices) for region in operation.regions
            )
            return self.either(condition, first, second)
        if operation.name == "scf.while":
            return self.unknown(value, f"the result of a while loop{_at(operation)}")
        body = operation.regions[0][0]
        owner = self.structure.owners[body.arguments[1 + which]]
        return self._carried(
            body.arguments[1 + which],
            indices,
            operation.operands[3 + which],
            body.end.operands[which],
            owner,
            self._trips_of(operation),
        )

    # loops

    def _loop(self, operation: Operation) -> _Loop:
        """Return the turn of a loop and its counter; the facts hold inside of its body."""
        if operation not in self._loops:
            with self.collecting() as inner:
                low, high, step = (self.integer(one) for one in operation.operands[:3])
            loops = self.structure.loops_around(operation) | {operation}
            turn = self.unknowns.fresh("turn", (0, INFINITY), loops=loops)
            counter = low + name(turn) * step
            known = self.unknowns.known[turn]
            known.facts = [at_least(name(turn)), at_least(high, counter + 1)]
            if step.constant is not None and step.constant > 0:
                bottom = low.interval(self.unknowns.interval)[0]
                top = high.interval(self.unknowns.interval)[1]
                if top < INFINITY and bottom > -INFINITY:
                    known.bounds = 0, max((top - 1 - bottom) // step.constant, 0)
            bits = bits_of_element(operation.operands[0].type)
            body: Path = (*self._path_of(operation), ("for", operation, 0))
            checks = inner | {
                Check("overflow", operation, counter + step, bits, body),
                Check("step", operation, step, bits, self._path_of(operation)),
            }
            self._loops[operation] = _Loop(turn, counter, frozenset(checks))
        found = self._loops[operation]
        self._checks[-1] |= found.checks
        return found

    def _while_turn(self, operation: Operation) -> str:
        if operation not in self._loops:
            loops = self.structure.loops_around(operation) | {operation}
            turn = self.unknowns.fresh("turn", (0, INFINITY), loops=loops)
            self.unknowns.known[turn].facts = [at_least(name(turn))]
            self._loops[operation] = _Loop(turn, name(turn), frozenset())
        return self._loops[operation].turn

    def _trips_of(self, operation: Operation) -> Polynomial:
        """Return how many turns a loop makes, which its counter and its step decide."""
        self._loop(operation)
        if operation not in self._trips:
            low, high, step = (self.integer(one) for one in operation.operands[:3])
            loops = self.structure.loops_around(operation)
            made = name(self.unknowns.fresh("trips", (0, INFINITY), loops=loops))
            [text] = made.names
            some = both(
                at_least(high, low + 1),
                at_least(made, 1),
                at_least(low + made * step, high),
                at_least(high, low + (made - 1) * step + 1),
            )
            none = both(at_least(low, high), *equal_parts(made, lift(0)))
            self.unknowns.known[text].facts = [at_least(made), either(none, some)]
            self._trips[operation] = made
        return self._trips[operation]

    def _carried(
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
        step = self._step(argument, indices, following, loop, turn)
        first = self.term(start, indices)
        if step is None:
            return self.unknown(argument, f"carried by the loop{_at(loop)}")
        if step == lift(0):
            return first
        if isinstance(first, SymbolicPointer):
            return first.moved(turn * step)
        if isinstance(first, Polynomial):
            made = first + turn * step
            bits = bits_of_element(element_of(argument.type))
            path: Path = self._path_of(loop)
            if loop in self.unknowns.loops_of([turn]):
                path = (*path, ("for" if loop.name == "scf.for" else "while", loop, 0))
            self._note(Check("overflow", following.made_by or loop, made, bits, path))
            return made
        return self.unknown(argument, f"carried by the loop{_at(loop)}")

    def _step(
        self,
        argument: Value,
        indices: Indices,
        following: Value,
        loop: Operation,
        turn: Polynomial,
    ) -> Polynomial | None:
        """Return by how much the carried value grows in a turn, None if turns differ."""
        key = argument, indices
        if key in self._symbolic:
            return None  # carried values that depend on each other
        me = self._symbol(argument, loop)
        if me is None:
            return None
        self._symbolic[key] = me
        self._memo.append({})
        try:
            with self.collecting() as checks:
                after = self.term(following, indices)
        finally:
            self._memo.pop()
            del self._symbolic[key]
        # what is added counts after the first turn; the sum is checked in closed form
        mine = me.names if isinstance(me, Polynomial) else frozenset()
        later = at_least(turn, 1)
        self._checks[-1] |= {
            replace(check, given=both(check.given, later))
            for check in checks
            if not check.result.names & mine
        }
        if after == me:
            return lift(0)
        step: Polynomial | None = None
        if isinstance(me, SymbolicPointer) and isinstance(after, SymbolicPointer):
            if len(after.cases) == 1 and after.cases[0].base is argument:
                step = after.cases[0].offset
        elif isinstance(me, Polynomial) and isinstance(after, Polynomial):
            step = after - me
        if step is None or loop in self.unknowns.loops_of([step]):
            return None
        return step

    def _symbol(self, argument: Value, loop: Operation) -> Term | None:
        """Return a name for what a loop carries, while its step is looked for."""
        if pointee_of(argument.type) is not None:
            return SymbolicPointer((PointerCase(TRUE, argument, lift(0)),))
        element = element_of(argument.type)
        loops = frozenset([loop])
        if element == "i1":
            return Truth(self.unknowns.fresh("carried", (0, 1), loops=loops), True)
        if element[0] != "i":
            return None
        return name(self.unknowns.fresh("carried", EVERYTHING, loops=loops))


def equal_parts(a: Polynomial, b: Polynomial) -> tuple[Formula, ...]:
    """Return two inequalities that make `a == b`."""
    made = equal(a, b)
    return made.parts if isinstance(made, Compound) else (made,)


def _under(condition: Formula, case: PointerCase) -> PointerCase:
    return PointerCase(both(condition, case.condition), case.base, case.offset, case.why_unknown)


def _origin(operation: Operation) -> str:
    said = {
        "tt.reduce": "a reduction",
        "tt.scan": "a scan",
        "arith.cmpf": "a comparison of floats",
        "tt.atomic_rmw": "what an atomic operation returns",
        "tt.atomic_cas": "what an atomic operation returns",
    }.get(operation.name, f"{operation.name}, which is not modelled,")
    return f"{said}{_at(operation)}"


def _at(operation: Operation) -> str:
    line = line_of(operation)
    return "" if line is None else f" at line {line}"


def _line(value: Value) -> int | None:
    return None if value.made_by is None else line_of(value.made_by)
