"""Reads a contract's text as bit-vectors of 64 bits. Python's own parser reads expressions.

Sizes where an expression needs more than 63 bits are left out: nothing is looked for there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import z3

from compiler.recheck.not_modelled import NotModelled
from compiler.recheck.reader import Type
from compiler.recheck.widths import POINTER_BITS, bits_of

GRID_MOST = (2**31 - 1, 65535, 65535)
_TUPLE_ITEM = re.compile(r"([A-Za-z_]\w*)((?:\.\d+)+)", re.ASCII)
_NAMES = re.compile(r"(sizes|any)\s+(?=[A-Za-z_])(.*)", re.ASCII)
_VALUES = re.compile(r"values\s+([A-Za-z_]\w*)\s*:(.*)\.\.(.*)", re.ASCII)
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*(:|=(?!=))(.*)", re.ASCII)


@dataclass(frozen=True)
class WholeNumber:
    """An integer expression as bits, and between which numbers it is."""

    term: z3.BitVecRef
    low: int
    high: int


@dataclass
class SizeContract:
    """A contract about the parameters of one kernel."""

    scalars: dict[str, z3.BitVecRef] = field(default_factory=dict)
    """The arguments of the kernel, in the width of each parameter."""
    named: dict[str, WholeNumber] = field(default_factory=dict)
    """Every name as an expression may use it."""
    extents: dict[str, z3.BitVecRef] = field(default_factory=dict)
    values: dict[str, tuple[z3.BitVecRef, z3.BitVecRef]] = field(default_factory=dict)
    grid: list[WholeNumber] = field(default_factory=list)
    facts: list[z3.BoolRef] = field(default_factory=list)
    ranges: list[WholeNumber] = field(default_factory=list)
    """Scalars and sizes, whose facts are their ranges."""
    chosen: dict[str, z3.BitVecRef] = field(default_factory=dict)
    """Scalars and sizes that a launch chooses."""


def read_contract(
    text: str,
    parameters: Sequence[tuple[str, Type]],
    constants: Mapping[str, int],
    most_size: int,
    most_elements: int,
) -> SizeContract:
    """Return the contract of a kernel. Raises NotModelled for a text that is not one."""
    try:
        return _Binding(parameters, constants, most_size, most_elements).read(text)
    except (SyntaxError, ValueError, KeyError, RecursionError) as error:
        raise NotModelled(f"the contract: {error}") from error


def _constant(value: int) -> WholeNumber:
    return WholeNumber(z3.BitVecVal(value, POINTER_BITS), value, value)


class _Binding:
    def __init__(
        self,
        parameters: Sequence[tuple[str, Type]],
        constants: Mapping[str, int],
        most_size: int,
        most_elements: int,
    ) -> None:
        self._parameters = dict(parameters)
        self._most_size, self._most_elements = most_size, most_elements
        self._contract = SizeContract()
        for name, value in constants.items():
            if name not in self._parameters and type(value) is int:
                self._contract.named[_mangled(name)] = _constant(value)

    def read(self, text: str) -> SizeContract:
        lines = [_mangled(line.partition("#")[0].strip()) for line in text.splitlines()]
        names: dict[str, list[str]] = {"sizes": [], "any": []}
        fixed: list[tuple[str, str]] = []
        extents: list[tuple[str, str]] = []
        values: list[tuple[str, str, str]] = []
        relations: list[str] = []
        grid = "1"
        for line in filter(None, lines):
            if match := _NAMES.fullmatch(line):
                names[match[1]] += re.findall(r"\w+", match[2])
            elif match := _VALUES.fullmatch(line):
                values.append((match[1], match[2], match[3]))
            elif (match := _NAMED.fullmatch(line)) and match[2] == "=":
                fixed.append((match[1], match[3]))
            elif match and match[1] == "grid":
                grid = match[3]
            elif match:
                extents.append((match[1], match[3]))
            else:
                relations.append(line)
        self._declare(names["any"], names["sizes"], {name for name, _ in fixed})
        for name, expression in fixed:
            self._fix(name, self._number(expression))
        contract = self._contract
        for name, expression in extents:
            extent = self._number(expression)
            self._between(extent, 0, self._most_elements)
            contract.extents[name] = extent.term
        contract.facts += [self._relation(line) for line in relations]
        for name, low, high in values:
            contract.values[name] = self._number(low).term, self._number(high).term
        self._grid(grid)
        return contract

    def _declare(self, anything: list[str], sizes: list[str], fixed: set[str]) -> None:
        contract = self._contract
        for name, type_ in self._parameters.items():
            if type_.shape or not type_.is_integer or type_.element == "i1":
                continue
            key, width = _mangled(name), bits_of(type_.element)
            if key in fixed:
                continue
            if key in anything:
                bits = z3.BitVec(name, width)
                half = 1 << (width - 1)
                wide = z3.SignExt(POINTER_BITS - width, bits)
                contract.named[key] = WholeNumber(wide, -half, half - 1)
                contract.scalars[name] = bits
                contract.chosen[name] = wide
                continue
            most = min(self._most_size, (1 << (width - 1)) - 1)
            self._size(name, most)
            self._pass(name, contract.named[key], width)
        for name in sizes:
            self._size(name, min(self._most_size, (1 << (POINTER_BITS - 1)) - 1))

    def _size(self, name: str, most: int) -> None:
        """Declare a size from 1 to `most`; bits that are always 0 cost the solver nothing."""
        length = most.bit_length()
        wide = z3.ZeroExt(POINTER_BITS - length, z3.BitVec(name, length))
        size = WholeNumber(wide, 1, most)
        self._contract.named[_mangled(name)] = size
        self._contract.ranges.append(size)
        self._contract.chosen[name] = wide
        self._contract.facts += [z3.UGE(wide, 1), z3.ULE(wide, most)]

    def _pass(self, name: str, value: WholeNumber, width: int) -> None:
        """Pass a scalar to the kernel, in the width of its parameter."""
        bits = _low_bits(value.term, width)
        self._contract.scalars[name] = bits
        self._contract.ranges += [value, WholeNumber(bits, value.low, value.high)]

    def _fix(self, key: str, value: WholeNumber) -> None:
        contract = self._contract
        constexpr = contract.named.get(key)
        if constexpr is not None:
            contract.facts.append(constexpr.term == value.term)
            return
        [name] = [parameter for parameter in self._parameters if _mangled(parameter) == key]
        width = bits_of(self._parameters[name].element)
        half = 1 << (width - 1)
        self._between(value, -half, half - 1)
        known = WholeNumber(value.term, max(value.low, -half), min(value.high, half - 1))
        contract.named[key] = known
        self._pass(name, known, width)

    def _between(self, value: WholeNumber, low: int, high: int) -> None:
        if value.low < low:
            self._contract.facts.append(value.term >= low)
        if value.high > high:
            self._contract.facts.append(value.term <= high)

    def _grid(self, text: str) -> None:
        read = ast.parse(text.strip(), mode="eval").body
        axes = [
            self._value(expression)
            for expression in (read.elts if isinstance(read, ast.Tuple) else [read])
        ]
        axes += [_constant(1)] * (len(GRID_MOST) - len(axes))
        for axis, most in zip(axes, GRID_MOST, strict=True):
            self._between(axis, 1, most)
            ends = max(axis.low, 1), max(min(axis.high, most), 1)
            self._contract.grid.append(WholeNumber(axis.term, *ends))

    def _relation(self, line: str) -> z3.BoolRef:
        read = ast.parse(line, mode="eval").body
        if not isinstance(read, ast.Compare):
            raise NotModelled(f"the statement {line[:80]!r}")
        sides = [self._value(expression).term for expression in (read.left, *read.comparators)]
        parts = []
        for a, sign, b in zip(sides, read.ops, sides[1:], strict=False):
            match sign:
                case ast.LtE():
                    parts.append(a <= b)
                case ast.Lt():
                    parts.append(a < b)
                case ast.GtE():
                    parts.append(a >= b)
                case ast.Gt():
                    parts.append(a > b)
                case ast.Eq():
                    parts.append(a == b)
                case _:
                    raise NotModelled(f"the statement {line[:80]!r}")
        return z3.And(*parts)

    def _number(self, text: str) -> WholeNumber:
        return self._value(ast.parse(text.strip(), mode="eval").body)

    def _value(self, node: ast.expr) -> WholeNumber:
        match node:
            case ast.Constant(value=int(value)) if type(value) is int and value < 1 << 62:
                return _constant(value)
            case ast.Name(id=name):
                return self._contract.named[name]
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return self._sum(_constant(0), self._value(inner), -1)
            case ast.BinOp(left=left, op=sign, right=right):
                return self._arithmetic(sign, self._value(left), self._value(right))
            case ast.Call(func=ast.Name(id=name), args=[first, second], keywords=[]):
                a, b = self._value(first), self._value(second)
                if name == "cdiv":
                    last = self._sum(b, _constant(1), -1)
                    return self._quotient(self._sum(a, last, 1), b)
                if name in ("min", "max"):
                    choose = min if name == "min" else max
                    is_first = a.term <= b.term if name == "min" else a.term >= b.term
                    ends = choose(a.low, b.low), choose(a.high, b.high)
                    return WholeNumber(z3.If(is_first, a.term, b.term), *ends)
        raise NotModelled(f"the expression {ast.unparse(node)[:80]!r}")

    def _arithmetic(self, sign: ast.operator, a: WholeNumber, b: WholeNumber) -> WholeNumber:
        match sign:
            case ast.Add():
                return self._sum(a, b, 1)
            case ast.Sub():
                return self._sum(a, b, -1)
            case ast.Mult():
                return self._product(a, b)
            case ast.FloorDiv():
                return self._quotient(a, b)
            case ast.Mod():
                return self._sum(a, self._product(self._quotient(a, b), b), -1)
        raise NotModelled(f"the operator {type(sign).__name__}")

    def _sum(self, a: WholeNumber, b: WholeNumber, sign: int) -> WholeNumber:
        ends = (a.low + b.low, a.high + b.high) if sign > 0 else (a.low - b.high, a.high - b.low)
        if sign > 0:
            fits = z3.And(
                z3.BVAddNoOverflow(a.term, b.term, True), z3.BVAddNoUnderflow(a.term, b.term)
            )
            return self._fitting(a.term + b.term, ends, fits)
        fits = z3.And(z3.BVSubNoOverflow(a.term, b.term), z3.BVSubNoUnderflow(a.term, b.term, True))
        return self._fitting(a.term - b.term, ends, fits)

    def _product(self, a: WholeNumber, b: WholeNumber) -> WholeNumber:
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        fits = z3.And(z3.BVMulNoOverflow(a.term, b.term, True), z3.BVMulNoUnderflow(a.term, b.term))
        return self._fitting(a.term * b.term, (min(corners), max(corners)), fits)

    def _fitting(self, term: z3.BitVecRef, ends: tuple[int, int], fits: z3.BoolRef) -> WholeNumber:
        half = 1 << (POINTER_BITS - 1)
        low, high = ends
        if low < -half or high >= half:
            self._contract.facts.append(fits)
        return WholeNumber(term, max(low, -half), min(high, half - 1))

    def _quotient(self, a: WholeNumber, b: WholeNumber) -> WholeNumber:
        """Return the quotient, rounded down, by a divisor that is at least 1."""
        if b.low < 1:
            self._contract.facts.append(b.term >= 1)
        least = max(b.low, 1)
        low, high = min(a.low, a.low // least), max(a.high // least, 0 if a.high >= 0 else -1)
        if a.low >= 0:
            return WholeNumber(z3.UDiv(a.term, b.term), 0, high)
        whole, rest = a.term / b.term, z3.SRem(a.term, b.term)
        return WholeNumber(z3.If(rest < 0, whole - 1, whole), low, high)


def _low_bits(term: z3.BitVecRef, width: int) -> z3.BitVecRef:
    return term if width == term.size() else z3.simplify(z3.Extract(width - 1, 0, term))


def _mangled(text: str) -> str:
    """Return a text where an item of a tuple, `t.0`, is one name of Python."""
    return _TUPLE_ITEM.sub(lambda match: match[1] + match[2].replace(".", "__item"), text)
