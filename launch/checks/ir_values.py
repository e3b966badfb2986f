"""Tracks the precision of the values in one function of TTIR, from operation to operation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from compiler.ttir_to_numpy.ir import Operation, Value, unquoted
from compiler.ttir_to_numpy.mlir_types import element_of

BITS = {
    "f64": 53, "f32": 24, "imprecise": 14, "tf32": 11, "f16": 11, "bf16": 8, "f8E4M3FN": 4,
    "f8E4M3FNUZ": 4, "f8E4M3B11FNUZ": 4, "f8E5M2": 3, "f8E5M2FNUZ": 3,
}  # fmt: skip
"""Mantissa bits, including the hidden bit. `imprecise`: how tensor cores add fp8 products."""
LOW = frozenset(name for name, bits in BITS.items() if bits <= BITS["f16"] and name != "tf32")
_NO_FLOAT_BITS = 64

_LAYOUT = frozenset({
    "tt.expand_dims", "tt.broadcast", "tt.reshape", "tt.trans", "tt.splat", "tt.unsplat",
    "tt.join", "tt.cat", "arith.select", "ttg.convert_layout",
})  # fmt: skip
_LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_STORES = ("tt.store", "tt.descriptor_store", "tt.descriptor_scatter")
_ADDS = frozenset({"arith.addf", "arith.subf", "math.fma"})
"""`%s = arith.addf %acc, %v : tensor<8xf16>`"""
_SCALES = frozenset({"arith.mulf", "arith.divf", "arith.negf"})
_ROUNDS = frozenset({"arith.truncf", "tt.fp_to_fp"})
"""`%y = arith.truncf %x : tensor<8xf32> to tensor<8xf16>`"""
_REDUCTIONS = frozenset({"tt.reduce", "tt.scan"})
_TF32, _IEEE = 0, 2
"""Numbers of Triton's enumeration InputPrecision: `inputPrecision = 0 : i32`."""
_FADD = 5
"""The number of `fadd` in Triton's enumeration RMWOp: `atomic_rmw_op = 5 : i32`."""
_MAX_SUM = 8
"""The longest chain of additions that is not taken for an unrolled loop."""


def float_of(value: Value) -> str | None:
    """Return the type of a value's elements if it is one of floats, else None."""
    element = element_of(value.type)
    return element if element in BITS else None


def _first_float(values: Iterable[Value]) -> str | None:
    return next(filter(None, map(float_of, values)), None)


@dataclass(slots=True)
class Cast:
    """A value rounded to `dtype`; `loaded`: its unrounded value was read from memory."""

    dtype: str
    loaded: bool
    operation: Operation
    used: bool = False
    """The value is used in a computation, not only stored."""


@dataclass(slots=True)
class Reduced:
    """A reduction or scan, and the functions that combine two of its values."""

    dtype: str
    operation: Operation
    adds: bool = False
    callees: list[str] = field(default_factory=list)


@dataclass(slots=True)
class FunctionScan:
    """The operations of one function that affect precision, up to the last one read."""

    sightings: list[tuple[str, str, Operation]] = field(default_factory=list)
    """Kind of cause, type and operation."""
    casts: list[Cast] = field(default_factory=list)
    reduced: list[Reduced] = field(default_factory=list)
    """Those of low-precision values."""
    calls: list[tuple[str, Operation]] = field(default_factory=list)
    """Callee and call."""
    carried_into: list[tuple[str, str, Operation]] = field(default_factory=list)
    """Callee, type and call, of calls with a loop-carried argument."""
    adds_low: bool = False
    """True if it adds or multiplies low-precision floats."""
    least_loaded: int = _NO_FLOAT_BITS
    """The mantissa bits of the least precise floats that it loads."""
    _loaded: set[Value] = field(default_factory=set)
    """Values loaded from memory, still in the precision that they have there."""
    _rounded: dict[Value, Cast] = field(default_factory=dict)
    _carried: set[Value] = field(default_factory=set)
    """Low-precision loop-carried values, and scaled or widened ones."""
    _summed: set[Value] = field(default_factory=set)
    """Sums of loop-carried values in a higher precision."""
    _additions: dict[Value, int] = field(default_factory=dict)
    """The number of consecutive low-precision additions that made each value."""

    def read_regions(self, operation: Operation, reduced: Reduced | None = None) -> None:
        """Take in the operations inside of `operation`, which `reduced` describes if it is one."""
        for region in operation.regions:
            for block in region:
                for inner in block.operations:
                    self._read(inner, reduced)

    def _read(self, operation: Operation, reduced: Reduced | None) -> None:
        """Take in an operation; `reduced` is the reduction whose body it is directly in."""
        name = operation.name
        result = operation.results[0] if operation.results else None
        if name.startswith("tt.dot"):
            self._dot(operation)
        elif (name in _ADDS or name in _SCALES) and result is not None:
            self._arithmetic(operation, result, reduced)
        elif name in _ROUNDS and result is not None:
            self._round(operation, result)
        elif name == "tt.call":
            self._call(operation, reduced)
        elif name == "tt.atomic_rmw":
            self._atomic(operation)
        self._follow(operation, result)
        if name in _REDUCTIONS:  # %s = "tt.reduce"(%x) <{axis = 0 : i32}> ({ ... }) : (...) -> f16
            self._reduce(operation)
        elif operation.regions:
            self._carry(operation)
            self.read_regions(operation)

    def _carry(self, loop: Operation) -> None:
        """Note the low-precision values that a loop carries from round to round.

        `scf.for %i = %a to %b step %c iter_args(%acc = %z) -> (tensor<8xf16>)`
        """
        if loop.name in ("scf.for", "scf.while"):
            arguments = (value for region in loop.regions for value in region[0].arguments)
            self._carried.update(value for value in arguments if float_of(value) in LOW)

    def _reduce(self, operation: Operation) -> None:
        values = (*operation.operands, *operation.results)
        reduced = Reduced(_first_float(values) or "", operation)
        self.read_regions(operation, reduced)
        if reduced.dtype in LOW:
            self.reduced.append(reduced)

    def _dot(self, operation: Operation) -> None:
        """Take in `tt.dot %a, %b, %c, inputPrecision = tf32 : ... -> tensor<8x8xf32>`."""
        operand, result = float_of(operation.operands[0]), _first_float(operation.results)
        if operand == "f32" and operation.integer("inputPrecision", _IEEE) == _TF32:
            self.sightings.append(("tf32", "tf32", operation))
        if result in LOW:
            self.sightings.append(("dot_accumulator", str(result), operation))
        if operation.integer("maxNumImpreciseAcc") and str(operand).startswith("f8"):
            self.sightings.append(("imprecise_dot", "imprecise", operation))

    def _arithmetic(self, operation: Operation, result: Value, reduced: Reduced | None) -> None:
        dtype = float_of(result)
        is_low = dtype in LOW
        self.adds_low |= is_low
        if is_low and reduced is not None:
            reduced.adds = True
        if is_low and operation.name in _ADDS:
            self._add_again(str(dtype), operation, result)
        if not any(operand in self._carried for operand in operation.operands):
            return
        if operation.name in _SCALES:
            self._carried.add(result)
        elif is_low:
            self.sightings.append(("accumulator", str(dtype), operation))
        else:
            self._summed.add(result)

    def _add_again(self, dtype: str, operation: Operation, result: Value) -> None:
        """Record an addition, and a cause once the chain is as long as a loop's."""
        counts = (self._additions.get(operand, 0) for operand in operation.operands)
        count = 1 + max(counts, default=0)
        self._additions[result] = count
        if count == _MAX_SUM:
            self.sightings.append(("accumulator", dtype, operation))

    def _round(self, operation: Operation, result: Value) -> None:
        source = operation.operands[0]
        wide, dtype = float_of(source), float_of(result)
        if wide is None or dtype is None or BITS[dtype] >= BITS[wide]:
            return
        if source in self._summed and dtype in LOW:
            self.sightings.append(("accumulator", dtype, operation))
        cast = Cast(dtype, source in self._loaded, operation)
        self.casts.append(cast)
        self._rounded[result] = cast

    def _call(self, operation: Operation, reduced: Reduced | None) -> None:
        """Take in `%s = tt.call @"m.add"(%acc, %v) : (tensor<8xf16>, tensor<8xf16>) -> ...`."""
        callee = unquoted(operation.attributes.get("callee", "").removeprefix("@"))
        self.calls.append((callee, operation))
        dtype = _first_float(operation.results)
        if dtype in LOW and any(operand in self._carried for operand in operation.operands):
            self.carried_into.append((callee, str(dtype), operation))
        if reduced is not None:
            reduced.callees.append(callee)

    def _atomic(self, operation: Operation) -> None:
        """Take in `tt.atomic_rmw fadd, acq_rel, gpu, %pointers, %values, %mask : ...`."""
        dtype = _first_float(operation.operands)
        if operation.integer("atomic_rmw_op") == _FADD and dtype in LOW:
            self.sightings.append(("atomic", str(dtype), operation))

    def _follow(self, operation: Operation, result: Value | None) -> None:
        """Propagate values through operations that only move data; mark the others as used."""
        name = operation.name
        if name.startswith(_LOADS):
            self._load(operation.results)
        passes = name in _LAYOUT
        for operand in operation.operands:
            if passes and result is not None:
                self._pass_on(operand, result)
            elif name == "arith.extf" and operand in self._carried and result is not None:
                self._carried.add(result)
            cast = self._rounded.get(operand)
            if cast is not None and not passes and not name.startswith((*_STORES, "scf.yield")):
                cast.used = True

    def _load(self, results: Sequence[Value]) -> None:
        for result in results:
            dtype = float_of(result)
            if dtype is not None:
                self.least_loaded = min(self.least_loaded, BITS[dtype])
                self._loaded.add(result)

    def _pass_on(self, operand: Value, result: Value) -> None:
        for values in (self._loaded, self._carried, self._summed):
            if operand in values:
                values.add(result)
        if (cast := self._rounded.get(operand)) is not None:
            self._rounded[result] = cast
