"""Reads a value of TTIR as a formula over symbolic sizes, backwards from where it is used.

A tensor is a function of its indices, so what no address or mask needs, such as all floating point,
is never looked at. Integers are mathematical: each operation of limited width leaves a `Check` that
its result fits, to be proved on its own. What no formula can say becomes an unknown, with its
origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from compiler.proof import arith_operations, triton_operations
from compiler.proof.logic import (
    FALSE,
    TRUE,
    AtLeastZero,
    Compound,
    Formula,
    Truth,
    at_least,
    both,
    conjuncts,
    either,
    names_of,
    opposite,
    replaced,
)
from compiler.proof.loops import Loops
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.proof_limits import MAX_TERMS_READ, ProofLimitReached, Unsupported
from compiler.proof.ranges import Range
from compiler.proof.structure import Edge, Structure
from compiler.proof.terms import (
    Check,
    Indices,
    LoadedValue,
    Path,
    PointerCase,
    Reader,
    SymbolicPointer,
    Term,
    at_line,
    bits_of_element,
    line_of,
)
from compiler.proof.unknowns import EVERYTHING, Conditions, Unknowns
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, pointee_of

_READERS: Mapping[str, Reader] = {**arith_operations.READERS, **triton_operations.READERS}
ValueAt = tuple[Value, Indices]
"""A value, and the indices of one of its elements."""


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
    _memo: list[dict[ValueAt, tuple[Term, frozenset[Check]]]] = field(default_factory=lambda: [{}])
    _checks: list[set[Check]] = field(default_factory=lambda: [set()])
    _symbolic: dict[ValueAt, Term] = field(default_factory=dict)
    _entered: set[Path] = field(default_factory=set)
    _loops_of_indices: frozenset[Operation] = frozenset()
    """The loops in whose turns the indices differ that a value is being read at."""
    _read: int = 0

    def __post_init__(self) -> None:
        self.loops = Loops(self)

    # values

    def term(self, value: Value, indices: Indices = ()) -> Term:
        """Return what `value` is at `indices`. Raises Unsupported, ProofLimitReached."""
        key = value, indices
        if key in self._symbolic:
            return self._symbolic[key]
        memo = self._memo[-1]
        if key not in memo:
            self._read += 1
            if self._read > MAX_TERMS_READ:
                raise ProofLimitReached(f"its addresses need more than {MAX_TERMS_READ:,} values")
            around, self._loops_of_indices = self._loops_of_indices, self.unknowns.loops_of(indices)
            try:
                with self.collecting() as checks:
                    made = self._term(value, indices)
            finally:
                self._loops_of_indices = around
            memo[key] = made, frozenset(checks)
        made, noted = memo[key]
        self._checks[-1] |= noted
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
        raise Unsupported("a condition that is not an i1", _line(value))

    def pointer(self, value: Value, indices: Indices = ()) -> SymbolicPointer:
        """Return a pointer."""
        made = self.term(value, indices)
        if isinstance(made, SymbolicPointer):
            return made
        raise Unsupported("an address that is not a pointer", _line(value))

    @contextmanager
    def collecting(self) -> Iterator[set[Check]]:
        """Collect the checks of operations that are read inside, hidden from the code around it."""
        checks: set[Check] = set()
        self._checks.append(checks)
        try:
            yield checks
        finally:
            self._checks.pop()

    def check(self, operation: Operation, value: Value, result: Polynomial) -> Polynomial:
        """Note that `result` must fit the type of `value`, and return it."""
        bits = bits_of_element(element_of(value.type))
        low, high = result.interval(self.unknowns.interval) if not result.names else EVERYTHING
        half = 1 << (bits - 1)
        if not (-half <= low and high < half):
            self.note([Check("overflow", operation, result, bits, self._path_of(operation))])
        return result

    def check_divisor(self, operation: Operation, divisor: Polynomial) -> None:
        """Note that a divisor must be at least 1."""
        if divisor.constant is None or divisor.constant < 1:
            self.note([Check("divisor", operation, divisor, 64, self._path_of(operation))])

    def note(self, checks: Iterable[Check]) -> None:
        """Note what must hold for a value to be exact."""
        self._checks[-1].update(checks)

    def stands_for(self, key: ValueAt) -> bool:
        """Return True inside of `standing_for` with the same key."""
        return key in self._symbolic

    @contextmanager
    def standing_for(self, key: ValueAt, symbol: Term) -> Iterator[None]:
        """Read a value as a symbol inside; nothing that is read so is kept."""
        self._symbolic[key] = symbol
        self._memo.append({})
        try:
            yield
        finally:
            self._memo.pop()
            del self._symbolic[key]

    @contextmanager
    def _reading(self, operation: Operation) -> Iterator[None]:
        """Let what is named inside be known to be computed where an operation runs."""
        around, path = self.unknowns.where, self._path_of(operation)
        self.unknowns.where = lambda: self._conditions(path)
        try:
            yield
        finally:
            self.unknowns.where = around

    def _conditions(self, path: Path) -> Conditions | None:
        if path in self._entered:  # a condition that depends on what it decides
            return None
        self._entered.add(path)
        try:
            return conjuncts(self.path(path, with_earlier_turns=False))
        finally:
            self._entered.remove(path)

    def _path_of(self, operation: Operation) -> Path:
        return self.structure.paths[operation]

    def unknown(self, value: Value, origin: str) -> Term:
        """Return some value of the type of `value`."""
        element = element_of(value.type)
        loops = self._loops_of(value)
        if element == "i1":
            return Truth(
                self.unknowns.fresh("truth", Range(0, 1), origin=origin, loops=loops), True
            )
        if pointee_of(value.type) is not None:
            return SymbolicPointer((PointerCase(TRUE, None, lift(0), origin),))
        if element[0] != "i" or not (element == "index" or element[1:].isdigit()):
            raise Unsupported(f"an address that depends on a value of type {element}", _line(value))
        half = 1 << (bits_of_element(element) - 1)
        within = Range(-half, half - 1)
        return name(self.unknowns.fresh("value", within, origin=origin, loops=loops))

    def loops_around(self, operation: Operation) -> frozenset[Operation]:
        """Return the loops in whose turns the result differs that is being read.

        A result from before a loop differs, too, where each turn reads another element of it.
        """
        return self.structure.loops_around(operation) | self._loops_of_indices

    def _loops_of(self, value: Value) -> frozenset[Operation]:
        if value.made_by is not None:
            return self.loops_around(value.made_by)
        owner = self.structure.owners[value]
        if owner.kind in ("function", "block"):
            return self._loops_of_indices
        return self.loops_around(owner.operation) | {owner.operation}

    def _term(self, value: Value, indices: Indices) -> Term:
        operation = value.made_by
        if operation is None:
            return self._argument(value, indices)
        if operation.name in ("scf.for", "scf.while", "scf.if"):
            return self._structured(operation, value, indices)
        element = element_of(value.type)
        read = _READERS.get(operation.name)
        is_readable = element[0] == "i" or pointee_of(value.type) is not None
        if read is not None and is_readable:
            with self._reading(operation):
                made = read(self, operation, value, indices)
            # true is -1 or 1, as an operation reads it: arithmetic of single bits is not modelled
            if element != "i1" or not isinstance(made, Polynomial):
                return made
        return self.unknown(value, _origin(operation))

    def _argument(self, value: Value, indices: Indices) -> Term:
        owner = self.structure.owners[value]
        match owner.kind:
            case "function":
                return self._parameter(value)
            case "for":
                loop = self.loops.of(owner.operation)
                if owner.number == 0:
                    return loop.counter
                following = owner.operation.regions[0][0].end.operands[owner.number - 1]
                start = owner.operation.operands[2 + owner.number]
                return self.loops.carried(value, indices, start, following, owner, name(loop.turn))
            case (
                "while before"
            ):  # scf.while (%c = %start) : ... { here } do { scf.yield %following }
                following = owner.operation.regions[1][0].end.operands[owner.number]
                start = owner.operation.operands[owner.number]
                turn = name(self.loops.while_turn(owner.operation))
                return self.loops.carried(value, indices, start, following, owner, turn)
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

    def path(self, steps: Path, *, with_earlier_turns: bool = True) -> Formula:
        """Return what holds wherever the operations of a path run.

        A turn of a `while` is reached only if its condition held in the turn before.
        """
        parts: list[Formula] = []
        for kind, operation, which in steps:
            if kind == "for":
                parts += self.loops.of(operation).runs
            elif kind == "if":
                condition = self.truth(operation.operands[0])
                parts.append(condition if which == 0 else opposite(condition))
            elif kind == "while":
                if which == 1:
                    parts.append(self.truth(operation.regions[0][0].end.operands[0]))
                if with_earlier_turns:
                    parts.append(self._held_before(operation))
            elif kind == "block":
                parts.append(self._reached(str(which)))
        return both(*parts)

    def _held_before(self, loop: Operation) -> Formula:
        """Return that this is the first turn of a `while`, or its condition held in the last one.

        Only for parts in which nothing but the number of the turn differs from turn to turn.
        """
        text, known = self.loops.while_turn(loop), self.unknowns.known
        held = [
            replaced(part, text, name(text) - 1)
            for part in conjuncts(self.truth(loop.regions[0][0].end.operands[0]))
            if not any(
                loop in known[other].loops for other in names_of(part) - {text} if other in known
            )
        ]
        return either(at_least(0, name(text)), both(*held))

    def _reached(self, label: str) -> Formula:
        if label == self.structure.function.regions[0][0].label:
            return TRUE
        return either(*map(self._taken, self.structure.edges.get(label, [])))

    def _taken(self, edge: Edge) -> Formula:
        before = self._reached(edge.label)
        if edge.terminator.name == "cf.br":  # cf.br ^bb1(%p : i32); cf.cond_br has two
            return before
        condition = self.truth(edge.terminator.operands[0])
        return both(before, condition if edge.number == 0 else opposite(condition))

    def _structured(self, operation: Operation, value: Value, indices: Indices) -> Term:
        which = operation.results.index(value)
        if operation.name == "scf.if":  # %r = scf.if %condition -> (i32) { ... } else { ... }
            condition = self.truth(operation.operands[0])
            first, second = (
                self.term(region[0].end.operands[which], indices) for region in operation.regions
            )
            return self.either(condition, first, second)
        if operation.name == "scf.while":
            return self.unknown(value, f"the result of a while loop{at_line(operation)}")
        # %r = scf.for %i = %low to %high step %step iter_args(%c = %first) -> (i32) : i32 { ... }
        body = operation.regions[0][0]
        owner = self.structure.owners[body.arguments[1 + which]]
        return self.loops.carried(
            body.arguments[1 + which],
            indices,
            operation.operands[3 + which],
            body.end.operands[which],
            owner,
            self.loops.trips(operation),
        )


def _under(condition: Formula, case: PointerCase) -> PointerCase:
    return PointerCase(both(condition, case.condition), case.base, case.offset, case.why_unknown)


def _origin(operation: Operation) -> str:
    description = {
        "tt.reduce": "a reduction",
        "tt.scan": "a scan",
        "arith.cmpf": "a comparison of floats",
        "tt.atomic_rmw": "what an atomic operation returns",
        "tt.atomic_cas": "what an atomic operation returns",
        "tt.atomic_load": "what an atomic operation returns",
    }.get(operation.name, f"{operation.name}, which is not modelled,")
    return f"{description}{at_line(operation)}"


def _line(value: Value) -> int | None:
    return None if value.made_by is None else line_of(value.made_by)
