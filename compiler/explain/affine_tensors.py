"""The steps of the integers and pointers in TTGIR along each dimension, where they are certain.

A tensor is kept as a sum: a number that all elements share, and a step for each dimension. What
is not such a sum, such as an index that was loaded or a remainder, is not kept.
"""

import math
import re
from dataclasses import dataclass, replace

from compiler.explain.ttgir import element_bytes, held_type
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import is_tensor, pointee_of

_ARGUMENT_ATTRIBUTES = re.compile(r"\{([^{}]*)\}")
"""One of the dictionaries of `arg_attrs = [{tt.divisibility = 16 : i32}, {}]`."""
_DIVISIBLE = re.compile(r"tt\.divisibility = (\d{1,9}) ")
_NUMBER = re.compile(r"(?:dense<)?(-?\d{1,18})>? : ")
"""`16 : i32`, or `dense<16> : tensor<256xi32, #blocked>`."""
_SAME = frozenset({"arith.extsi", "arith.extui", "ttg.convert_layout", "arith.index_cast"})
"""`arith.extsi %i : tensor<256xi32, #blocked> to tensor<256xi64, #blocked>`"""
_MAX_PASSES = 4
"""Passes until the steps in loops settle; each can only find more loops whose steps change."""
_MAX_VALUE = 1 << 40
"""Of larger numbers only a divisor is kept, so that none grows with each operation."""


@dataclass(frozen=True, slots=True)
class UniformNumber:
    """A number that all elements share: `exact` if it is known, else a multiple of `multiple`.

    `name` is the parameter that it is.
    """

    exact: int | None = None
    multiple: int = 1
    name: str | None = None

    @property
    def divisor(self) -> int:
        """A number that divides it."""
        return self.multiple if self.exact is None else abs(self.exact)

    def plus(self, other: "UniformNumber") -> "UniformNumber":
        """Return the sum."""
        if self.exact is not None and other.exact is not None:
            return _exactly(self.exact + other.exact)
        if other.exact == 0:
            return self
        if self.exact == 0:
            return other
        return UniformNumber(multiple=max(1, math.gcd(self.divisor, other.divisor)))

    def times(self, other: "UniformNumber") -> "UniformNumber":
        """Return the product."""
        if self.exact is not None and other.exact is not None:
            return _exactly(self.exact * other.exact)
        if 0 in (self.exact, other.exact):
            return ZERO
        name = self.name if other.exact is not None else other.name
        is_one = self.exact is not None or other.exact is not None
        multiple = math.gcd(self.divisor * other.divisor, _MAX_VALUE)
        return UniformNumber(multiple=multiple, name=name if is_one else None)


def _exactly(number: int) -> UniformNumber:
    """Return a number whose size is bounded, so that none grows with each line."""
    return (
        UniformNumber(number)
        if abs(number) <= _MAX_VALUE
        else UniformNumber(multiple=math.gcd(number, _MAX_VALUE))
    )


ZERO, ONE, UNKNOWN = UniformNumber(0), UniformNumber(1), UniformNumber()


@dataclass(frozen=True, slots=True)
class Affine:
    """An integer or a pointer, or a tensor of these; steps of pointers are in bytes."""

    shared: UniformNumber
    steps: tuple[UniformNumber, ...] = ()

    @property
    def is_uniform(self) -> bool:
        """True if all elements are equal."""
        return all(step.exact == 0 for step in self.steps)


Values = dict[Value, Affine]
_LoopArgument = tuple[Operation, int]


def affine_values(module: Operation) -> Values | None:
    """Return the values of a module that are such sums; None if loops change steps without end."""
    unsteady: frozenset[_LoopArgument] = frozenset()
    for _ in range(_MAX_PASSES):
        reader = _Reader(unsteady)
        for function in module.regions[0][0].operations:
            reader.read_function(function)
        if reader.unsteady == unsteady:
            return reader.values
        unsteady = frozenset(reader.unsteady)
    return None


class _Reader:
    """Follows the values of a module from operation to operation.

    `unsteady` are the arguments of loops whose steps change from round to round.
    """

    def __init__(self, unsteady: frozenset[_LoopArgument]) -> None:
        self.values: Values = {}
        self.unsteady = set(unsteady)

    def read_function(self, function: Operation) -> None:
        """Take in a function: `tt.func @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32})`."""
        attributes = _ARGUMENT_ATTRIBUTES.findall(function.attributes.get("arg_attrs", ""))
        arguments = [value for region in function.regions for value in region[0].arguments]
        for index, argument in enumerate(arguments):
            if is_tensor(argument.type):  # of a function that is not inlined
                continue
            divisible = _DIVISIBLE.search(attributes[index]) if index < len(attributes) else None
            multiple = int(divisible[1]) if divisible else 1
            name = argument.name or f"arg{index}"
            self.values[argument] = Affine(UniformNumber(multiple=multiple, name=name))
        self._read_regions(function)

    def _read_regions(self, operation: Operation) -> None:
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    self._read(inner)

    def _read(self, operation: Operation) -> None:
        if operation.name == "scf.for":
            self._read_loop(operation)
        elif operation.regions:
            self._read_regions(operation)
        elif len(operation.results) == 1:
            self._define(operation.results[0], operation)

    def _read_loop(self, loop: Operation) -> None:
        """Give the arguments of a loop what they begin with; a number they share may change.

        `%r = scf.for %i = %low to %high step %s iter_args(%c = %first) -> (...)`: the operands are
        the bounds, the step, and what the arguments begin with.
        """
        counter, *carried = loop.regions[0][0].arguments
        self.values[counter] = Affine(UNKNOWN)
        for index, (argument, first) in enumerate(zip(carried, loop.operands[3:], strict=True)):
            begin = self.values.get(first)
            if begin is not None and (loop, index) not in self.unsteady:
                self.values[argument] = replace(begin, shared=UNKNOWN)
        self._read_regions(loop)
        last = loop.regions[0][0].end.operands  # of `scf.yield %d : tensor<...>`
        for index, (argument, value) in enumerate(zip(carried, last, strict=True)):
            begin, end = self.values.get(argument), self.values.get(value)
            if begin is not None and (end is None or end.steps != begin.steps):
                self.unsteady.add((loop, index))

    def _define(self, result: Value, operation: Operation) -> None:
        made = self._made(result, operation)
        if made is not None:
            self.values[result] = made
        elif not is_tensor(result.type) and pointee_of(result.type) is None:
            self.values[result] = Affine(UNKNOWN)  # any scalar is one for the whole block

    def _made(self, result: Value, operation: Operation) -> Affine | None:
        held = held_type(result.type)
        rank = 0 if held is None else len(held.shape)
        known = [self.values.get(operand) for operand in operation.operands]
        match operation.name:
            case "arith.constant":
                number = _NUMBER.match(operation.attributes["value"])
                return Affine(UniformNumber(int(number[1])), (ZERO,) * rank) if number else None
            case "tt.make_range":
                return Affine(UNKNOWN, (ONE,))
            case "tt.splat":
                return Affine(known[0].shared if known[0] else UNKNOWN, (ZERO,) * rank)
        if not known or known[0] is None:
            return None
        first, second = known[0], known[1] if len(known) > 1 else None
        match operation.name:
            case name if name in _SAME:
                return first
            case "tt.expand_dims":  # "tt.expand_dims"(%r) <{axis = 1 : i32}>
                at = operation.integer("axis")
                return replace(first, steps=(*first.steps[:at], ZERO, *first.steps[at:]))
            case "tt.broadcast":  # (tensor<16x1xi32, #t>) -> tensor<16x32xi32, #t>
                source = held_type(operation.operands[0].type)
                pairs = zip(source.shape if source else (), first.steps, strict=True)
                return replace(first, steps=tuple(ZERO if n == 1 else step for n, step in pairs))
            case "tt.trans":  # "tt.trans"(%r) <{order = array<i32: 1, 0>}>
                order = operation.integers("order")
                return replace(first, steps=tuple(first.steps[at] for at in order))
        return None if second is None else _joined(operation, first, second)


def _joined(operation: Operation, a: Affine, b: Affine) -> Affine | None:
    """Return what an operation makes of two sums: `arith.muli %o, %c16 : tensor<256xi32, #b>`."""
    match operation.name:
        case "tt.addptr":
            size = element_bytes(operation.results[0].type)
            return None if size is None else _sum(a, _scaled(b, UniformNumber(size)))
        case "arith.addi":
            return _sum(a, b)
        case "arith.subi":
            return _sum(a, _scaled(b, UniformNumber(-1)))
        case "arith.shli":
            by = b.shared.exact
            known = b.is_uniform and by is not None and 0 <= by < 64
            return _scaled(a, UniformNumber(1 << by)) if known and by is not None else None
        case "arith.muli":
            if b.is_uniform:
                return _scaled(a, b.shared)
            return _scaled(b, a.shared) if a.is_uniform else None
    return None


def _sum(a: Affine, b: Affine) -> Affine | None:
    if len(a.steps) != len(b.steps):
        return None
    return Affine(
        a.shared.plus(b.shared), tuple(x.plus(y) for x, y in zip(a.steps, b.steps, strict=True))
    )


def _scaled(a: Affine, by: UniformNumber) -> Affine:
    return Affine(a.shared.times(by), tuple(step.times(by) for step in a.steps))
