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
            parameter.name: bits_of_element(parameter.type)
            for parameter in parameters
            if parameter.type[:1] == "i" and parameter.type[1:].isdigit() and parameter.type != "i1"
        }
        self._buffers = {
            parameter.name for parameter in parameters if pointee_of(parameter.type) is not None
        }
        self._bound = BoundContract(
            arguments={parameter.name: parameter.type for parameter in parameters}
        )

    def bound(self) -> BoundContract:
        bound = self._bound
        self._check_names()
        self._declare()
        for name_, expression in self._contract.fixed.items():
            bound.fixed[name_.text] = self._read(expression)
        for name_, expression in self._contract.extents.items():
            extent = bound.extents[name_.text] = self._read(expression)
            if not self._unknowns.is_within(at_least(extent)):
                self._fact("buffers have at least 0 elements", at_least(extent))
            self._fact(self._limits.elements_label(), at_least(self._limits.elements, extent))
        for comparison in self._contract.comparisons:
            left, right = self._read(comparison.left), self._read(comparison.right)
            self._fact(comparison.text, _compared(comparison.relation, left, right))
            bound.written.add(comparison.text)
        for name_, values in self._contract.values.items():
            bound.value_ranges[name_.text] = self._read(values.low), self._read(values.high)
            bound.written.add(f"values {name_.text}")
        self._bind_grid()
        for text, value in bound.fixed.items():
            if text not in self._scalars:  # a constexpr, which has its value already
                self._fact(f"{text} = {value.text()}", equal(self._constants[text], value))
                continue
            top = (1 << (self._scalars[text] - 1)) - 1
            self._fact(f"{text} is at most {top:,}", at_least(top, value))
            self._fact("", at_least(value, -top - 1))
        return bound

    def _check_names(self) -> None:
        contract = self._contract
        for name_ in (*contract.anything, *contract.fixed):
            if name_.text not in self._scalars and name_.text not in self._constants:
                message = f"the kernel has no integer argument {name_.text}"
                message += suggestion(name_.text, {*self._scalars, *self._constants})
                raise ContractError(message, name_.position)
        for name_ in (*contract.extents, *contract.values):
            if name_.text not in self._buffers:
                message = f"the kernel has no buffer {name_.text}"
                raise ContractError(message + suggestion(name_.text, self._buffers), name_.position)
        for name_ in contract.values:
            held = pointee_of(self._bound.arguments[name_.text]) or ""
            if held[:1] != "i":
                message = f"{name_.text} holds {held}; only integers have a range of values"
                raise ContractError(message, name_.position)
        for name_ in contract.sizes:
            if name_.text in self._bound.arguments or name_.text in self._constants:
                message = f"{name_.text} is an argument of the kernel: leave it out of `sizes`"
                raise ContractError(message, name_.position)

    def _declare(self) -> None:
        contract, most = self._contract, self._limits.size
        anything = {name_.text for name_ in contract.anything}
        fixed = {name_.text for name_ in contract.fixed}
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
            self._bound.sizes.append(text)
            # stated, since an unsigned argument, which TTIR does not mark, may be larger
            label = self._limits.size_label() if top >= most else f"{text} is at most {top:,}"
            self._size(text, min(top, most), label)
        for name_ in contract.sizes:
            self._bound.sizes.append(name_.text)
            self._size(name_.text, most, self._limits.size_label())

    def _size(self, text: str, most: int, label: str) -> None:
        under = frozenset([AT_LEAST_1]), frozenset([label])
        self._unknowns.define(text, Range(1, most, *under))
        self._fact(label, at_least(most, name(text)))
        self._fact(AT_LEAST_1, at_least(name(text), 1))

    def _bind_grid(self) -> None:
        parts = [self._read(expression) for expression in self._contract.grid]
        grid = (*parts, *([lift(1)] * (len(AXES) - len(parts))))
        self._bound.grid = grid
        self._bound.written.add("grid")
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
                self._bound.facts.append(Fact("", has_programs, of_programs=True))
            self._fact(f"the grid has at most {most:,} programs along {axis}", at_least(most, size))

    def _fact(self, label: str, formula: Formula) -> None:
        if formula != TRUE:
            self._bound.facts.append(Fact(label, formula))

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
        if text in self._bound.fixed:
            return self._bound.fixed[text]
        if text in self._unknowns.known:
            return name(text)
        if text in self._scalars:
            message = f"{text} is given by this line or by a later one: its value is not known here"
            raise ContractError(message, at.position)
        known = {*self._scalars, *self._constants, *self._bound.sizes}
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
