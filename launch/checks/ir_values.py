"""Tracks the precision of the values in one function of TTIR.

Lines arrive in the order of the text, and the scan keeps only names. The text may be hostile: the
scan reads each line once, with patterns that do not backtrack.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

BITS = {
    "f64": 53, "f32": 24, "imprecise": 14, "tf32": 11, "f16": 11, "bf16": 8, "f8E4M3FN": 4,
    "f8E4M3FNUZ": 4, "f8E4M3B11FNUZ": 4, "f8E5M2": 3, "f8E5M2FNUZ": 3,
}  # fmt: skip
"""Mantissa bits, including the hidden bit. `imprecise`: how tensor cores add fp8 products."""
LOW = frozenset(name for name, bits in BITS.items() if bits <= BITS["f16"] and name != "tf32")
_NO_FLOAT_BITS = 64

_ELEMENT = re.compile(r"(?<![a-wyzA-Z_])(bf16|f16|f32|f64|f8E\w{1,12})(?![\w])")
_VALUE = re.compile(r"%[\w.$-]+")
_OPERATION = re.compile(r"\"?([a-z_]+\.[\w.]+)")
_CALLEE = re.compile(r"@(\"[^\"]*\"|[\w.$-]+)")
_CARRIED = re.compile(r"(%[\w.$-]+) = %[\w.$-]+")
_BLOCK_ARGUMENT = re.compile(r"(%[\w.$-]+): ([^,()]*)")
_IMPRECISE = re.compile(r"maxNumImpreciseAcc = (\d{1,20})")

_LAYOUT = frozenset({
    "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.splat", "tt.unsplat",
    "tt.join", "tt.cat", "arith.select", "ttg.convert_layout",
})  # fmt: skip
_LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_STORES = ("tt.store", "tt.descriptor_store", "tt.descriptor_scatter")
_ADDS = frozenset({"arith.addf", "arith.subf", "math.fma"})
_SCALES = frozenset({"arith.mulf", "arith.divf", "arith.negf"})
_ROUNDS = frozenset({"arith.truncf", "tt.fp_to_fp"})
_REDUCTIONS = frozenset({"tt.reduce", "tt.scan"})
_MAX_SUM = 8
"""The longest chain of additions that is not taken for an unrolled loop."""


def type_of(words: str) -> str | None:
    """Return the float element type of the first type in `words`, None for other types."""
    match = _ELEMENT.search(words)
    return match[1] if match and match[1] in BITS else None


@dataclass(slots=True)
class Cast:
    """A value rounded to `dtype`; `loaded`: its unrounded value was read from memory."""

    dtype: str
    loaded: bool
    line: str
    used: bool = False
    """The value is used in a computation, not only stored."""


@dataclass(slots=True)
class Reduced:
    """A reduction or scan of low-precision values, and the function that combines two of them."""

    dtype: str
    line: str = ""
    adds: bool = False
    callees: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FunctionScan:
    """The operations of one function that affect precision, up to the last line read."""

    sightings: list[tuple[str, str, str]] = field(default_factory=list)
    """Kind of cause, type and line."""
    casts: list[Cast] = field(default_factory=list)
    reduced: list[Reduced] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Callee and line."""
    carried_into: list[tuple[str, str, str]] = field(default_factory=list)
    """Callee, type and line of calls with a loop-carried argument."""
    adds_low: bool = False
    """True if it adds or multiplies low-precision floats."""
    least_loaded: int = _NO_FLOAT_BITS
    """The mantissa bits of the least precise floats that it loads."""
    _regions: list[str | Reduced] = field(default_factory=list)
    _loaded: set[str] = field(default_factory=set)
    """Values loaded from memory, still in the precision that they have there."""
    _rounded: dict[str, Cast] = field(default_factory=dict)
    _carried: set[str] = field(default_factory=set)
    """Low-precision loop-carried values, and scaled or widened ones."""
    _summed: set[str] = field(default_factory=set)
    """Sums of loop-carried values in a higher precision."""
    _additions: dict[str, int] = field(default_factory=dict)
    """The number of consecutive low-precision additions that made each value."""

    def read(self, line: str) -> None:
        """Process the next line, already stripped."""
        if line.startswith("}"):
            self._leave(line)
            return
        if line.startswith("^"):
            self._enter_block(line)
        else:
            self._operation(line)
        if line.endswith("{"):
            self._regions.append(self._opened(line))

    def _opened(self, line: str) -> str | Reduced:
        """Return the operation whose region `line` opens."""
        name = _name(line)
        if name in _REDUCTIONS:
            return Reduced("")
        if name == "scf.for":
            at = line.find("iter_args(")
            end = line.find(") -> (", at)
            if 0 <= at < end:
                names = _CARRIED.findall(line[at:end])
                self._carry(zip(names, _types(line[end + len(") -> (") :]), strict=False))
        return name

    def _carry(self, values: Iterable[tuple[str, str]]) -> None:
        """Record loop-carried values with their types."""
        for name, words in values:
            self._forget(name)
            if type_of(words) in LOW and "ptr" not in words:
                self._carried.add(name)

    def _enter_block(self, line: str) -> None:
        if self._regions and self._regions[-1] == "scf.while":
            self._carry(_BLOCK_ARGUMENT.findall(line))

    def _leave(self, line: str) -> None:
        """Leave a region; a reduction's region ends with its type and location."""
        region = self._regions.pop() if self._regions else ""
        if line.endswith("{"):
            self._regions.append(region)  # `} else {` and `} do {` are of the same
            return
        if isinstance(region, Reduced):
            dtype = type_of(line)
            if dtype in LOW:
                region.dtype, region.line = str(dtype), line
                self.reduced.append(region)

    def _operation(self, line: str) -> None:
        left, equals, right = line.partition(" = ") if line.startswith("%") else ("", "", line)
        if not equals:
            left, right = "", line
        name = _name(right)
        results = _VALUE.findall(left)
        operands = _VALUE.findall(right)
        for result in results:
            self._forget(result)
        result = results[0] if results else None
        if name.startswith("tt.dot"):
            self._dot(right, line)
        elif name in _ADDS or name in _SCALES:
            self._arithmetic(name, right, operands, result, line)
        elif name in _ROUNDS:
            self._round(right, operands, result, line)
        elif name == "tt.call":
            self._call(right, operands, line)
        elif name == "tt.atomic_rmw":
            self._atomic(right, line)
        self._follow(name, right, operands, result)

    def _forget(self, name: str) -> None:
        """Forget a name, since the text reuses it for another value."""
        self._rounded.pop(name, None)
        self._additions.pop(name, None)
        for names in (self._loaded, self._carried, self._summed):
            names.discard(name)

    def _dot(self, words: str, line: str) -> None:
        types = _typed(words)
        operand, result = type_of(types), type_of(types.rpartition("->")[2])
        if operand == "f32" and "inputPrecision = tf32 " in f"{words.replace(',', ' ')} ":
            self.sightings.append(("tf32", "tf32", line))
        if result in LOW:
            self.sightings.append(("dot_accumulator", str(result), line))
        imprecise = _IMPRECISE.search(words)
        if imprecise and int(imprecise[1]) and str(operand).startswith("f8"):
            self.sightings.append(("imprecise_dot", "imprecise", line))

    def _arithmetic(
        self, name: str, words: str, operands: list[str], result: str | None, line: str
    ) -> None:
        dtype = type_of(_typed(words))
        is_low = dtype in LOW
        self.adds_low |= is_low
        if is_low and self._regions and isinstance(self._regions[-1], Reduced):
            self._regions[-1].adds = True
        if is_low and name in _ADDS and result is not None:
            self._add_again(str(dtype), operands, result, line)
        carried = any(operand in self._carried for operand in operands)
        if not carried or result is None:
            return
        if name in _SCALES:
            self._carried.add(result)
        elif is_low:
            self.sightings.append(("accumulator", str(dtype), line))
        else:
            self._summed.add(result)

    def _add_again(self, dtype: str, operands: list[str], result: str, line: str) -> None:
        """Record an addition, and a cause once the chain is as long as a loop's."""
        count = 1 + max((self._additions.get(operand, 0) for operand in operands), default=0)
        self._additions[result] = count
        if count == _MAX_SUM:
            self.sightings.append(("accumulator", dtype, line))

    def _round(self, words: str, operands: list[str], result: str | None, line: str) -> None:
        before, _, after = _typed(words).partition(" to " if " to " in _typed(words) else " -> ")
        wide, dtype = type_of(before), type_of(after)
        if wide is None or dtype is None or BITS[dtype] >= BITS[wide] or result is None:
            return
        source = operands[0] if operands else ""
        if source in self._summed and dtype in LOW:
            self.sightings.append(("accumulator", dtype, line))
        cast = Cast(dtype, source in self._loaded, line)
        self.casts.append(cast)
        self._rounded[result] = cast

    def _call(self, words: str, operands: list[str], line: str) -> None:
        if match := _CALLEE.search(words):
            callee = match[1].strip('"')
            self.calls.append((callee, line))
            dtype = type_of(_typed(words).rpartition("->")[2])
            if dtype in LOW and any(operand in self._carried for operand in operands):
                self.carried_into.append((callee, str(dtype), line))
            if self._regions and isinstance(self._regions[-1], Reduced):
                self._regions[-1].callees.append(callee)

    def _atomic(self, words: str, line: str) -> None:
        dtype = type_of(_typed(words))
        if words.startswith("tt.atomic_rmw fadd") and dtype in LOW:
            self.sightings.append(("atomic", str(dtype), line))

    def _follow(self, name: str, words: str, operands: list[str], result: str | None) -> None:
        """Propagate values through operations that only move data; mark the others as used."""
        if name.startswith(_LOADS):
            dtype = type_of(_typed(words))
            if dtype is not None:
                self.least_loaded = min(self.least_loaded, BITS[dtype])
                if result is not None:
                    self._loaded.add(result)
        passes = name in _LAYOUT
        for operand in operands:
            if passes and result is not None:
                self._pass_on(operand, result)
            elif name == "arith.extf" and operand in self._carried and result is not None:
                self._carried.add(result)
            cast = self._rounded.get(operand)
            if cast is None or passes or operand == result:
                continue
            if not name.startswith((*_STORES, "scf.yield")):
                cast.used = True

    def _pass_on(self, operand: str, result: str) -> None:
        for names in (self._loaded, self._carried, self._summed):
            if operand in names:
                names.add(result)
        if (cast := self._rounded.get(operand)) is not None:
            self._rounded[result] = cast


def _name(line: str) -> str:
    """Return the operation of a line, "" if there is none."""
    words = line.partition(" = ")[2] if line.startswith("%") else line
    match = _OPERATION.match(words)
    return match[1] if match else ""


def _typed(words: str) -> str:
    """Return the types at the end of an operation, without its location."""
    end = words.rfind(" loc(")
    words = words[:end] if end >= 0 else words
    return words.rpartition(" : ")[2]


def _types(words: str) -> Iterator[str]:
    """Yield the types of a list up to its closing bracket."""
    depth, start = 0, 0
    for index, character in enumerate(words):
        if character in "<({[":
            depth += 1
        elif character in ">)}]":
            if depth == 0:
                yield words[start:index]
                return
            depth -= 1
        elif character == "," and depth == 0:
            yield words[start:index]
            start = index + 1
