"""A contract bound to one kernel: its statements as facts about the kernel's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.proof.contract import (
    Arithmetic,
    Contract,
    ContractError,
    ContractName,
    Expression,
    Number,
    Relation,
)
from compiler.proof.logic import TRUE, Formula, at_least, equal
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.ranges import Range
from compiler.proof.terms import bits_of_element
from compiler.proof.unknowns import Unknowns
from compiler.rejection import suggestion
from compiler.ttir_to_numpy.ir import Value
from compiler.ttir_to_numpy.mlir_types import pointee_of

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""The most programs that CUDA starts along x, y and z."""
AXES = "xyz"
AT_LEAST_1 = "scalars and sizes are at least 1"


@dataclass(frozen=True)
class SizeLimits:
    """The largest scalar or size, and the most elements of a buffer."""

    size: int = 2**30
    elements: int = 2**36

    def size_label(self) -> str:
        """Return the statement of a proof that rests on it."""
        return f"scalars and sizes are at most {self.size:,}"

    def elements_label(self) -> str:
        """Return the statement of a proof that rests on it."""
        return f"buffers have at most {self.elements:,} elements"


@dataclass(frozen=True)
class Fact:
    """A formula that every launch keeps. `label` is the statement behind it, "" for mere types.

    One that is `of_programs` holds where a program runs: an empty grid has none.
    """

    label: str
    formula: Formula
    of_programs: bool = False


@dataclass
class BoundContract:
    """The statements of a contract, over the names of one kernel."""

    extents: dict[str, Polynomial] = field(default_factory=dict)
    facts: list[Fact] = field(default_factory=list)
    grid: tuple[Polynomial, ...] = ()
    fixed: dict[str, Polynomial] = field(default_factory=dict)
    value_ranges: dict[str, tuple[Polynomial, Polynomial]] = field(default_factory=dict)
    sizes: list[str] = field(default_factory=list)
    """The scalars and sizes that a launch chooses, in the order of the kernel's parameters."""
    arguments: dict[str, str] = field(default_factory=dict)
    """The MLIR type of each parameter, by name."""
    written: set[str] = field(default_factory=set)
    """The labels of the statements that the contract has itself."""


def bind(
    contract: Contract,
    parameters: Sequence[Value],
    constants: Mapping[str, int],
    limits: SizeLimits,
    unknowns: Unknowns,
) -> BoundContract:
    """Bind a contract to a kernel; `constants` are constexprs. Raises ContractError."""
    return _Binding(contract, parameters, constants, limits, unknowns).bound()


class _Binding:
    def __init__(
        self,
        contract: Contract,
        parameters: Sequence[Value],
        constants: Mapping[str, int],
        limits: SizeLimits,
        unknowns: Unknowns,
    ) -> None:
        self._contract, self._constants = contract, constants
        self._limits, self._unknowns = limits, unknowns
        self._scalars = {
            one.name: bits_of_element(one.type)
            for one in parameters
            if one.type[:1] == "i" and one.type[1:].isdigit() and one.type != "i1"
        }
        self._buffers = {one.name for one in parameters if pointee_of(one.type) is not None}
        self._found = BoundContract(arguments={one.name: one.type for one in parameters})

    def bound(self) -> BoundContract:
        found = self._found
        self._check_names()
        self._declare()
        for name_, expression in self._contract.fixed.items():
            found.fixed[name_.text] = self._read(expression)
        for name_, expression in self._contract.extents.items():
            extent = found.extents[name_.text] = self._read(expression)
            if not self._unknowns.is_within(at_least(extent)):
                self._fact("buffers have at least 0 elements", at_least(extent))
            self._fact(self._limits.elements_label(), at_least(self._limits.elements, extent))
        for comparison in self._contract.comparisons:
            left, right = self._read(comparison.left), self._read(comparison.right)
            self._fact(comparison.text, _compared(comparison.relation, left, right))
            found.written.add(comparison.text)
        for name_, values in self._contract.values.items():
            found.value_ranges[name_.text] = self._read(values.low), self._read(values.high)
            found.written.add(f"values {name_.text}")
        self._bind_grid()
        for text, value in found.fixed.items():
            if text not in self._scalars:  # a constexpr, which has its value already
                self._fact(f"{text} = {value.text()}", equal(self._constants[text], value))
                continue
            top = (1 << (self._scalars[text] - 1)) - 1
            self._fact(f"{text} is at most {top:,}", at_least(top, value))
            self._fact("", at_least(value, -top - 1))
        return found

    def _check_names(self) -> None:
        contract = self._contract
        for one in (*contract.anything, *contract.fixed):
            if one.text not in self._scalars and one.text not in self._constants:
                message = f"the kernel has no integer argument {one.text}"
                message += suggestion(one.text, {*self._scalars, *self._constants})
                raise ContractError(message, one.position)
        for one in (*contract.extents, *contract.values):
            if one.text not in self._buffers:
                message = f"the kernel has no buffer {one.text}"
                raise ContractError(message + suggestion(one.text, self._buffers), one.position)
        for one in contract.values:
            held = pointee_of(self._found.arguments[one.text]) or ""
            if held[:1] != "i":
                message = f"{one.text} holds {held}; only integers have a range of values"
                raise ContractError(message, one.position)
        for one in contract.sizes:
            if one.text in self._found.arguments or one.text in self._constants:
                message = f"{one.text} is an argument of the kernel; choose another name"
                raise ContractError(message, one.position)

    def _declare(self) -> None:
        contract, most = self._contract, self._limits.size
        anything = {one.text for one in contract.anything}
        fixed = {one.text for one in contract.fixed}
        for text, bits in self._scalars.items():
            if text in fixed:
                continue
            top = (1 << (bits - 1)) - 1
            if text in anything:
                label = f"{text} is at most {top:,}"
                self._unknowns.define(text, Range(-top - 1, top, high_under=frozenset([label])))
                self._fact(label, at_least(top, name(text)))
                self._fact("", at_least(name(text), -top - 1))
                continue
            self._found.sizes.append(text)
            # stated, since an unsigned argument, which TTIR does not mark, may be larger
            label = self._limits.size_label() if top >= most else f"{text} is at most {top:,}"
            self._size(text, min(top, most), label)
        for one in contract.sizes:
            self._found.sizes.append(one.text)
            self._size(one.text, most, self._limits.size_label())

    def _size(self, text: str, most: int, label: str) -> None:
        under = frozenset([AT_LEAST_1]), frozenset([label])
        self._unknowns.define(text, Range(1, most, *under))
        self._fact(label, at_least(most, name(text)))
        self._fact(AT_LEAST_1, at_least(name(text), 1))

    def _bind_grid(self) -> None:
        parts = [self._read(one) for one in self._contract.grid]
        grid = (*parts, *([lift(1)] * (len(AXES) - len(parts))))
        self._found.grid = grid
        self._found.written.add("grid")
        for axis, size, most in zip(AXES, grid, GRID_LIMITS, strict=True):
            text = f"program#{axis}"
            of_size = self._unknowns.range(size)
            within = Range(0, of_size.high - 1, high_under=of_size.high_under)
            self._unknowns.define(text, within)
            self._unknowns.known[text].facts = [
                at_least(name(text)),
                at_least(size, name(text) + 1),
            ]
            self._unknowns.known[text].label = "grid"
            if (has_programs := at_least(size, 1)) != TRUE:
                self._found.facts.append(Fact("", has_programs, of_programs=True))
            self._fact(f"the grid has at most {most:,} programs along {axis}", at_least(most, size))

    def _fact(self, label: str, formula: Formula) -> None:
        if formula != TRUE:
            self._found.facts.append(Fact(label, formula))

    def _read(self, expression: Expression) -> Polynomial:
        match expression:
            case Number(value):
                return lift(value)
            case ContractName():
                return self._named(expression)
        return self._computed(expression)

    def _named(self, at: ContractName) -> Polynomial:
        text = at.text
        if text in self._constants and text not in self._scalars:
            return lift(self._constants[text])
        if text in self._found.fixed:
            return self._found.fixed[text]
        if text in self._unknowns.known:
            return name(text)
        if text in self._scalars:
            message = f"{text} is given by this line or by a later one: its value is not known here"
            raise ContractError(message, at.position)
        known = {*self._scalars, *self._constants, *self._found.sizes}
        message = f"{text} is neither an integer argument nor a size"
        message += suggestion(text, known) or (
            f". There are: {', '.join(sorted(known)) or 'none'}. Declare a size: sizes {text}"
        )
        raise ContractError(message, at.position)

    def _computed(self, operation: Arithmetic) -> Polynomial:
        a, b = map(self._read, operation.operands)
        if operation.operator in ("//", "%", "cdiv") and not self._unknowns.is_within(
            at_least(b, 1)
        ):
            self._fact("what the contract divides by is at least 1", at_least(b, 1))
        match operation.operator:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b
            case "//":
                return self._unknowns.quotient(a, b, floor=True)
            case "%":
                return a - b * self._unknowns.quotient(a, b, floor=True)
            case "cdiv":
                return self._unknowns.quotient(a + b - 1, b, floor=True)
            case "min":
                return self._unknowns.smaller(a, b)
        return self._unknowns.larger(a, b)


def _compared(relation: Relation, a: Polynomial, b: Polynomial) -> Formula:
    match relation:
        case "<=":
            return at_least(b, a)
        case "<":
            return at_least(b, a + 1)
        case ">=":
            return at_least(a, b)
        case ">":
            return at_least(a, b + 1)
    return equal(a, b)
