"""The steps of the integers and pointers in TTGIR along each dimension, where they are certain.

A tensor is kept as a sum: a number that all elements share, and a step for each dimension. What
is not such a sum, such as an index that was loaded or a remainder, is not kept.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_RESULT = re.compile(r"^\s*(%[\w$.-]+)(?::\d+)? = (?:\"?)([\w.]+)")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_TENSOR = re.compile(r"tensor<((?:\d+x)+)")
_POINTEE = re.compile(r"!tt\.ptr<([\w!]+)")
_ARGUMENT = re.compile(r"(%[\w$.-]+): [^,{()]+(?:\{([^}]*)\})?")
_DIVISIBLE = re.compile(r"tt\.divisibility = (\d{1,9}) ")
_NUMBER = re.compile(r"= arith\.constant (?:dense<)?(-?\d{1,18})>? : ")
_AXIS = re.compile(r"\{axis = (\d) : i32\}")
_ORDER = re.compile(r"order = array<i32: ([\d, ]+)>")
_CARRIED = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)")
_BITS = re.compile(r"[a-z]+?(\d+)")
_SAME = frozenset({"arith.extsi", "arith.extui", "ttg.convert_layout", "arith.index_cast"})
_MAX_PASSES = 4
_MAX_VALUE = 1 << 40


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


Values = dict[str, Affine]


class Reader:
    """Follows the values of a module from line to line. `values` are those known so far."""

    def __init__(self, lines: Sequence[str], unsteady: frozenset[tuple[int, int]]) -> None:
        self.values: Values = {}
        self.unsteady = set(unsteady)
        self._loops: list[tuple[int, list[str]] | None] = []
        self._lines = lines

    def read(self, number: int) -> None:
        """Take in the line at this index."""
        line = self._lines[number].rstrip()
        opens = line.endswith("{")
        line = line if opens else line.partition(" loc(")[0]
        text = line.strip()
        if text.startswith("tt.func"):
            self._enter(line)
        elif text.startswith("scf.yield"):
            self._yield(text)
        elif match := _RESULT.match(line):
            self.values.pop(match[1], None)
            if not opens:
                self._define(match[1], match[2], line)
        if text.startswith("}") and self._loops:
            self._loops.pop()
        if text.startswith("^"):  # a region may have names of another one
            for name in _VALUE.findall(text):
                self.values.pop(name, None)
        if opens:
            for name, _ in _CARRIED.findall(line):
                self.values.pop(name, None)
            self._loops.append(self._carried(number, line) if "scf.for " in line else None)

    def _enter(self, line: str) -> None:
        self.values = {}
        for name, attributes in _ARGUMENT.findall(line):
            divisible = _DIVISIBLE.search(attributes)
            multiple = int(divisible[1]) if divisible else 1
            self.values[name] = Affine(
                UniformNumber(multiple=multiple, name=name.removeprefix("%"))
            )

    def _carried(self, number: int, line: str) -> tuple[int, list[str]]:
        """Give the arguments of a loop what they begin with; a number they share may change."""
        names = []
        counter, _, rest = line.partition("scf.for ")[2].partition(" = ")
        self.values[counter.strip()] = Affine(UNKNOWN)
        for index, (name, first) in enumerate(_CARRIED.findall(rest.partition("iter_args(")[2])):
            begin = self.values.get(first)
            names.append(name)
            if begin is not None and (number, index) not in self.unsteady:
                self.values[name] = replace(begin, shared=UNKNOWN)
        return number, names

    def _yield(self, text: str) -> None:
        loop = self._loops[-1] if self._loops else None
        if loop is None:
            return
        number, names = loop
        given = _VALUE.findall(text.partition(" : ")[0])
        for index, (name, last) in enumerate(zip(names, given, strict=False)):
            begin, end = self.values.get(name), self.values.get(last)
            if begin is not None and (end is None or end.steps != begin.steps):
                self.unsteady.add((number, index))

    def _define(self, name: str, operation: str, line: str) -> None:
        made = self._made(operation, line)
        is_tensor = "tensor<" in line.rpartition("->")[2]
        if made is not None:
            self.values[name] = made
        elif not is_tensor and "ptr<" not in line:
            self.values[name] = Affine(UNKNOWN)  # any scalar is one for the whole block

    def _made(self, operation: str, line: str) -> Affine | None:
        body = line.partition(" = ")[2]
        given = [self.values.get(name) for name in _VALUE.findall(body.partition(" : ")[0])]
        shape = _TENSOR.findall(line)
        rank = shape[-1].count("x") if shape else 0
        if operation == "arith.constant":
            found = _NUMBER.search(line)
            return Affine(UniformNumber(int(found[1])), (ZERO,) * rank) if found else None
        if operation == "tt.make_range":
            return Affine(UNKNOWN, (ONE,))
        if operation == "tt.splat":
            scalar = given[0].shared if given and given[0] else UNKNOWN
            return Affine(scalar, (ZERO,) * rank)
        if not given or given[0] is None:
            return None
        first, second = given[0], given[1] if len(given) > 1 else None
        if operation in _SAME:
            return first
        if operation == "tt.expand_dims" and (axis := _AXIS.search(line)):
            at = int(axis[1])
            return replace(first, steps=(*first.steps[:at], ZERO, *first.steps[at:]))
        if operation == "tt.broadcast":
            extents = [int(n) for n in shape[0].split("x")[:-1]]
            pairs = zip(extents, first.steps, strict=True)
            return replace(first, steps=tuple(ZERO if n == 1 else step for n, step in pairs))
        if operation == "tt.trans" and (order := _ORDER.search(line)):
            return replace(first, steps=tuple(first.steps[int(at)] for at in order[1].split(",")))
        return None if second is None else _joined(operation, first, second, line)


def _joined(operation: str, a: Affine, b: Affine, line: str) -> Affine | None:
    if operation == "tt.addptr":
        size = element_bytes(line)
        return None if size is None else _sum(a, _scaled(b, UniformNumber(size)))
    if operation == "arith.addi":
        return _sum(a, b)
    if operation == "arith.subi":
        return _sum(a, _scaled(b, UniformNumber(-1)))
    distance = b.shared.exact
    if operation == "arith.shli" and b.is_uniform and distance is not None and 0 <= distance < 64:
        return _scaled(a, UniformNumber(1 << distance))
    if operation == "arith.muli":
        if b.is_uniform:
            return _scaled(a, b.shared)
        return _scaled(b, a.shared) if a.is_uniform else None
    return None


def element_bytes(line: str) -> int | None:
    """Return the size of the elements of a pointer in a line, None for parts of bytes."""
    pointee = _POINTEE.search(line)
    bits = _BITS.match(pointee[1]) if pointee else None
    return int(bits[1]) // 8 if bits and int(bits[1]) % 8 == 0 else None


def _sum(a: Affine, b: Affine) -> Affine | None:
    if len(a.steps) != len(b.steps):
        return None
    return Affine(
        a.shared.plus(b.shared), tuple(x.plus(y) for x, y in zip(a.steps, b.steps, strict=True))
    )


def _scaled(a: Affine, by: UniformNumber) -> Affine:
    return Affine(a.shared.times(by), tuple(step.times(by) for step in a.steps))


def steady_loops(lines: Sequence[str]) -> frozenset[tuple[int, int]] | None:
    """Return the arguments of loops whose steps change, by line and index; None if unending."""
    unsteady: frozenset[tuple[int, int]] = frozenset()
    for _ in range(_MAX_PASSES):
        reader = Reader(lines, unsteady)
        for number in range(len(lines)):
            reader.read(number)
        if reader.unsteady == unsteady:
            return unsteady
        unsteady = frozenset(reader.unsteady)
    return None
