"""The dialects `arith` and `math`, and Triton's elementwise operations, as NumPy expressions."""

from collections.abc import Callable, Mapping

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.external_functions import external
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.known_numbers import number_of, source_of
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import NameScope, NumpyExpression, results_of

_OPERATORS: Mapping[str, str] = {
    "arith.addi": "{} + {}", "arith.subi": "{} - {}", "arith.muli": "{} * {}",
    "arith.addf": "{} + {}", "arith.subf": "{} - {}", "arith.mulf": "{} * {}",
    "arith.divf": "{} / {}", "tt.precise_divf": "{} / {}", "tt.approx_divf": "{} / {}",
    "arith.andi": "{} & {}",
    "arith.ori": "{} | {}", "arith.xori": "{} ^ {}", "arith.shli": "{} << {}",
    "arith.shrsi": "{} >> {}", "arith.negf": "-{}",
}  # fmt: skip
_OF_BOOLS = {
    "arith.addi": "{} ^ {}", "arith.subi": "{} ^ {}", "arith.muli": "{} & {}",
    "arith.divsi": "{} | ({} & False)", "arith.divui": "{} | ({} & False)",
    "arith.remsi": "{} & {} & False", "arith.remui": "{} & {} & False",
    "arith.shli": "{} | ({} & False)", "arith.shrsi": "{} | ({} & False)",
    "arith.shrui": "{} | ({} & False)",
}  # fmt: skip
"""A divisor can only be true, as LLVM has it, and no bit is moved anywhere."""
_WIDE_SHIFTS = {
    "arith.shli": "{} << ({} & 0xFFFFFFFF)", "arith.shrsi": "{} >> ({} & 0xFFFFFFFF)",
    "arith.shrui": "signed(unsigned({}) >> (unsigned({}) & 0xFFFFFFFF))",
}  # fmt: skip
"""Operations on 64 bits whose amount PTX takes from the lower half."""
_FLUSHED = frozenset({"math.floor", "math.ceil", "math.sqrt"})
"""Functions of fp32 for which a subnormal is 0."""
_FUNCTIONS: Mapping[str, str] = {
    "arith.divsi": "divide", "arith.remsi": "remainder", "arith.maxsi": "np.maximum",
    "arith.minsi": "np.minimum", "arith.maxnumf": "maxnum", "arith.minnumf": "minnum",
    "arith.maximumf": "maximum", "arith.minimumf": "minimum",
    "arith.remf": "float_remainder", "arith.ceildivsi": "above", "arith.floordivsi": "below",
    "math.exp": "np.exp", "math.exp2": "np.exp2", "math.log": "np.log", "math.log2": "np.log2",
    "math.log10": "np.log10", "math.log1p": "np.log1p", "math.expm1": "np.expm1",
    "math.sqrt": "np.sqrt", "tt.precise_sqrt": "np.sqrt", "math.absf": "np.abs",
    "math.absi": "np.abs", "math.sin": "np.sin", "math.cos": "np.cos", "math.tan": "np.tan",
    "math.tanh": "np.tanh", "math.ceil": "np.ceil", "math.floor": "np.floor",
    "math.trunc": "np.trunc", "math.roundeven": "np.rint", "math.round": "rounded",
    "math.erf": "erf", "math.fma": "fused", "math.powf": "np.power", "math.atan2": "np.arctan2",
    "math.copysign": "np.copysign", "math.ctpop": "count_bits", "tt.mulhiui": "high_product",
    "math.asin": "np.arcsin", "math.acos": "np.arccos", "math.atan": "np.arctan",
    "math.sinh": "np.sinh", "math.cosh": "np.cosh", "math.asinh": "np.arcsinh",
    "math.acosh": "np.arccosh", "math.atanh": "np.arctanh", "math.cbrt": "np.cbrt",
    "math.erfc": "erfc", "math.ctlz": "leading_zeros", "math.cttz": "trailing_zeros",
    "math.ipowi": "whole_power", "math.isnormal": "is_normal",
    "math.isnan": "np.isnan", "math.isinf": "np.isinf", "math.isfinite": "np.isfinite",
}  # fmt: skip
_UNSIGNED: Mapping[str, str] = {
    "arith.divui": "divide(unsigned({}), unsigned({}))",
    "arith.remui": "remainder(unsigned({}), unsigned({}))",
    "arith.ceildivui": "above(unsigned({}), unsigned({}))",
    "arith.shrui": "unsigned({}) >> unsigned({})",
    "arith.maxui": "np.maximum(unsigned({}), unsigned({}))",
    "arith.minui": "np.minimum(unsigned({}), unsigned({}))",
}  # fmt: skip
_TYPED = frozenset(
    {
        "tt.mulhiui", "math.fma", "math.erf", "math.erfc", "math.round", "math.ctpop",
        "math.ctlz", "math.cttz", "math.ipowi", "math.isnormal", "arith.remf", "arith.divsi",
        "arith.remsi", "arith.ceildivsi", "arith.floordivsi",
    }
)  # fmt: skip
"""Functions that ask their operands for a dtype."""
_OF_TWO: Mapping[str, str] = {
    "arith.mulsi_extended": "wide_product({}, {}, True)",
    "arith.mului_extended": "wide_product({}, {}, False)",
    "arith.addui_extended": "sum_and_carry({}, {})",
    "math.sincos": "np.sin({0}), np.cos({0})",
}
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OF_FLOATS: Mapping[int, str] = {
    1: "{0} == {1}", 2: "{0} > {1}", 3: "{0} >= {1}", 4: "{0} < {1}", 5: "{0} <= {1}",
    6: "({0} < {1}) | ({0} > {1})", 7: "({0} == {0}) & ({1} == {1})",
    8: "~(({0} < {1}) | ({0} > {1}))", 9: "~({0} <= {1})", 10: "~({0} < {1})",
    11: "~({0} >= {1})", 12: "~({0} > {1})", 13: "{0} != {1}",
    14: "({0} != {0}) | ({1} != {1})",
}  # fmt: skip
"""By MLIR's number of the predicate: ordered ones, then those that hold for NaN."""


def _clamped(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `tt.clampf` as `cuda:90` has it; `propagateNan` is whether a NaN stays."""
    is_nan_kept = bool(operation.integer("propagateNan"))
    _, least, most = operation.operands
    if _are_opposite(source_of(least), source_of(most)):
        return scope.call(operation, f"clamped_to({{0}}, {{2}}, {is_nan_kept})", typed=True)
    if is_nan_kept:
        return scope.call(operation, "minimum(maximum({0}, {1}), {2})")
    return scope.call(operation, "minnum(maxnum({0}, {1}), {2})")


def elementwise(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return an operator or function of operands that NumPy broadcasts."""
    name = operation.name
    element = mlir_types.element_of(operation.operands[0].type)
    if element == "i1" and name in _OF_BOOLS:
        return scope.operator(operation, _OF_BOOLS[name])
    if element == "i1" and name in {"arith.maxsi", "arith.minsi"}:
        name = "arith.minsi" if name == "arith.maxsi" else "arith.maxsi"  # true is -1
    is_wide_shift = name in _WIDE_SHIFTS and element == "i64"
    if is_wide_shift and not scope.value(operation.operands[1]).is_bare:
        return scope.call(operation, _WIDE_SHIFTS[name], typed=True, atom=False)
    if name in _OPERATORS:
        return scope.operator(operation, _OPERATORS[name])
    if name in _UNSIGNED:
        return scope.call(operation, f"signed({_UNSIGNED[name]})", typed=True)
    places = ", ".join("{}" for _ in operation.operands)
    if name in _FLUSHED and element == "f32":
        return scope.call(operation, f"{_FUNCTIONS[name]}(without_denormals({{}}))", typed=True)
    typed = name in _TYPED
    return scope.call(operation, f"{_FUNCTIONS[name]}({places})", typed=typed)


def compared(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `arith.cmpi`: predicates from 6 on are of unsigned integers."""
    predicate = operation.integer("predicate")
    sign = _COMPARED[predicate if predicate < 6 else predicate - 4]
    if mlir_types.element_of(operation.operands[0].type) == "i1":
        sign = sign if predicate >= 6 else _MIRRORED.get(sign, sign)  # true is -1
    elif predicate >= 6:
        return scope.call(
            operation, f"unsigned({{}}) {sign} unsigned({{}})", typed=True, atom=False
        )
    return scope.operator(operation, f"{{}} {sign} {{}}")


def compared_floats(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `arith.cmpf`."""
    predicate = operation.integer("predicate")
    if predicate in {0, 15}:
        return NumpyExpression("True" if predicate else "False", is_bare=True)
    return scope.operator(operation, _OF_FLOATS[predicate])


def selected(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `arith.select`."""
    _, first, second = operation.operands
    if mlir_types.pointee_of(first.type) is not None:
        return scope.call(operation, "select({}, {}, {})")
    both = scope.value(first).is_bare and scope.value(second).is_bare
    return scope.call(operation, "np.where({}, {}, {})[()]", typed=both)


def converted(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return a conversion between integers, or from integers to floats."""
    [value] = operation.operands
    element, wanted = (
        mlir_types.element_of(value.type),
        mlir_types.element_of(operation.results[0].type),
    )
    dtype = mlir_types.dtype_of(wanted)
    if wanted == "bf16" and element in {"i32", "i64"}:
        source = "{}" if operation.name == "arith.sitofp" else "unsigned({})"
        return scope.call(operation, f"to_bf16({source})", typed=True)
    if operation.name == "arith.trunci" and wanted == "i1":
        return scope.operator(operation, "({} & 1) != 0")
    if element == "i1" and operation.name in {"arith.extsi", "arith.sitofp"}:
        return scope.operator(operation, f"-{{}}.astype({dtype})")  # true is -1
    if element != "i1" and operation.name in {"arith.extui", "arith.uitofp"}:
        return scope.call(operation, f"unsigned({{}}).astype({dtype})", typed=True)
    return scope.operator(operation, f"{{}}.astype({dtype})", atom=True)


def to_integer(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return floats as integers, signed or not."""
    if mlir_types.element_of(operation.results[0].type) == "i1":
        return scope.operator(operation, "{} != 0")
    dtype = mlir_types.dtype_of(operation.results[0].type)
    if operation.name == "arith.fptosi":
        return scope.call(operation, f"to_integer({{}}, {dtype})", typed=True)
    return scope.call(
        operation, f"signed(to_integer({{}}, {dtype.replace('np.', 'np.u')}))", typed=True
    )


INLINE_ASSEMBLY = "inline assembly"
_RTZ = 0
_OF_E4B15: Mapping[tuple[str, ...], tuple[str, tuple[str, ...]]] = {
    ("f16", "i8"): ("to_e4b15", ("0x3F003F00", "0x00800080", "prmt.b32 $0, b0, b1, 0x7531")),
    ("i8", "f16"): ("from_e4b15", ("prmt.b32 a0, 0, $2, 0x5746", "shl.b32 $1, b1, 7")),
}
"""By the types; each with pieces of Triton's own text, which identify it."""


def to_float(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return floats as floats of another type; `rounding` may ask for towards zero."""
    source = mlir_types.element_of(operation.operands[0].type)
    element = mlir_types.element_of(operation.results[0].type)
    dtype = mlir_types.dtype_of(element)
    narrows = operation.name != "arith.extf"
    is_cut_off = "rounding" in operation.attributes and operation.integer("rounding") == _RTZ
    if is_cut_off and element in {"f16", "bf16", "f32", "f8E5M2"}:
        return scope.call(operation, f"towards_zero({{}}, {dtype})", typed=True)
    if narrows and element.startswith("f8"):
        return scope.call(operation, f"to_float({{}}, {dtype})", typed=True)
    if element == "bf16" and source == "f8E5M2":
        return scope.call(operation, "e5_to_bf16({})", typed=True)
    if element == "bf16" and source == "f64":
        return scope.call(operation, "to_bf16({})", typed=True)
    return scope.operator(operation, f"{{}}.astype({dtype})", atom=True)


def bitcast(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return the same bits as another type; of pointers, the same addresses."""
    [value] = operation.operands
    result = operation.results[0]
    pointee = mlir_types.pointee_of(result.type)
    if pointee is not None:
        return scope.call(operation, f"{{}}.cast({mlir_types.dtype_of(pointee)})")
    if mlir_types.element_of(value.type) == mlir_types.element_of(result.type):
        return scope.value(value)
    return scope.call(operation, f"bits({{}}, {mlir_types.dtype_of(result.type)})", typed=True)


def reciprocal_root(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `math.rsqrt`."""
    if mlir_types.element_of(operation.operands[0].type) == "f32":
        text = "1 / np.sqrt(without_denormals({}))"
        return scope.call(operation, text, typed=True, atom=False)
    return scope.call(operation, "1 / np.sqrt({})", typed=True, atom=False)


def powered(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `math.fpowi`, a float to the power of an integer."""
    dtype = mlir_types.dtype_of(operation.results[0].type)
    return scope.call(operation, f"np.power({{}}, {{}}).astype({dtype})", typed=True)


def two_results(scope: NameScope, operation: Operation) -> None:
    """Write an operation with two results."""
    a, *others = (scope.typed(operand).text for operand in operation.operands)
    text = _OF_TWO[operation.name].format(a, *others)
    scope.emit(f"{results_of(scope, operation)}{text}", operation)


def assembly(scope: NameScope, operation: Operation) -> None:
    """Write Triton's own conversions between fp16 and fp8e4b15, which are inline assembly.

    Raises `Untranslatable` for any other inline assembly.
    """
    types = [value.type for value in (*operation.operands, *operation.results)]
    elements = tuple(mlir_types.element_of(type_) for type_ in types)
    function, marks = _OF_E4B15.get(elements, ("", ()))
    text = operation.text("asm_string")
    if not function or not all(mark in text for mark in marks):
        raise Untranslatable(INLINE_ASSEMBLY)
    value = scope.typed(operation.operands[0]).text
    scope.emit(f"{results_of(scope, operation)}{function}({value})", operation)


def flushed(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return `arith.flush_denormals`."""
    return scope.call(operation, "without_denormals({})", typed=True)


CONVERSIONS = ("arith.extsi", "arith.extui", "arith.trunci", "arith.sitofp", "arith.uitofp",
               "arith.index_cast", "arith.index_castui")  # fmt: skip
EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], NumpyExpression]] = {
    **dict.fromkeys((*_OPERATORS, *_FUNCTIONS, *_UNSIGNED), elementwise),
    **dict.fromkeys(CONVERSIONS, converted),
    **dict.fromkeys(("arith.extf", "arith.truncf", "arith.convertf", "tt.fp_to_fp"), to_float),
    **dict.fromkeys(("arith.fptosi", "arith.fptoui"), to_integer),
    **dict.fromkeys(("arith.bitcast", "tt.bitcast"), bitcast),
    "arith.cmpi": compared,
    "arith.cmpf": compared_floats,
    "arith.select": selected,
    "math.rsqrt": reciprocal_root,
    "math.fpowi": powered,
    "arith.flush_denormals": flushed,
    "tt.clampf": _clamped,
    "tt.extern_elementwise": external,
}
"""Writers by the operation's name."""
STATEMENTS: Mapping[str, Callable[[NameScope, Operation], None]] = {
    **dict.fromkeys(_OF_TWO, two_results),
    "tt.elementwise_inline_asm": assembly,
}


# Triton has two instructions of PTX for `tt.clampf`, or one where the bounds are opposite. They
# make the same of all numbers. Of a NaN the one instruction makes the limit, the
# two the lower bound.


def _are_opposite(least: Value, most: Value) -> bool:
    """Return whether the compiler knows `least` to be `-most`: numbers, or `-x` and `x`."""
    number, limit = number_of(least), number_of(most)
    if number is not None and limit is not None:
        return number == -limit
    made_by = least.made_by
    if made_by is None or made_by.name not in {"arith.negf", "arith.subf"}:
        return False
    *zero, negated = made_by.operands
    return source_of(negated) is most and all(number_of(element) == 0 for element in zero)
