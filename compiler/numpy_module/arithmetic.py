"""The dialects `arith` and `math`, and Triton's elementwise operations, as NumPy expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.numpy_module import mlir_types
from compiler.numpy_module.expression import Expression
from compiler.numpy_module.ir import Operation
from compiler.numpy_module.refusal import Untranslatable
from compiler.numpy_module.scope import NameScope

_OPERATORS: Mapping[str, str] = {
    "arith.addi": "{} + {}", "arith.subi": "{} - {}", "arith.muli": "{} * {}",
    "arith.addf": "{} + {}", "arith.subf": "{} - {}", "arith.mulf": "{} * {}",
    "arith.divf": "{} / {}", "tt.precise_divf": "{} / {}", "arith.andi": "{} & {}",
    "arith.ori": "{} | {}", "arith.xori": "{} ^ {}", "arith.shli": "{} << {}",
    "arith.shrsi": "{} >> {}", "arith.negf": "-{}",
}  # fmt: skip
_OF_BOOLS = {"arith.addi": "{} ^ {}", "arith.subi": "{} ^ {}", "arith.muli": "{} & {}"}
_FUNCTIONS: Mapping[str, str] = {
    "arith.divsi": "divide", "arith.remsi": "remainder", "arith.maxsi": "np.maximum",
    "arith.minsi": "np.minimum", "arith.maxnumf": "np.fmax", "arith.minnumf": "np.fmin",
    "arith.maximumf": "np.maximum", "arith.minimumf": "np.minimum", "arith.remf": "np.fmod",
    "math.exp": "np.exp", "math.exp2": "np.exp2", "math.log": "np.log", "math.log2": "np.log2",
    "math.log10": "np.log10", "math.log1p": "np.log1p", "math.expm1": "np.expm1",
    "math.sqrt": "np.sqrt", "tt.precise_sqrt": "np.sqrt", "math.absf": "np.abs",
    "math.absi": "np.abs", "math.sin": "np.sin", "math.cos": "np.cos", "math.tan": "np.tan",
    "math.tanh": "np.tanh", "math.ceil": "np.ceil", "math.floor": "np.floor",
    "math.trunc": "np.trunc", "math.roundeven": "np.rint", "math.round": "rounded",
    "math.erf": "erf", "math.fma": "fused", "math.powf": "np.power", "math.atan2": "np.arctan2",
    "math.copysign": "np.copysign", "math.ctpop": "count_bits", "tt.mulhiui": "high_product",
    "math.isnan": "np.isnan", "math.isinf": "np.isinf", "math.isfinite": "np.isfinite",
}  # fmt: skip
_UNSIGNED: Mapping[str, str] = {
    "arith.divui": "unsigned({}) // unsigned({})", "arith.remui": "unsigned({}) % unsigned({})",
    "arith.shrui": "unsigned({}) >> unsigned({})",
    "arith.maxui": "np.maximum(unsigned({}), unsigned({}))",
    "arith.minui": "np.minimum(unsigned({}), unsigned({}))",
}  # fmt: skip
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


def elementwise(scope: NameScope, operation: Operation) -> Expression:
    """Return an operator or function of operands that NumPy broadcasts."""
    name = operation.name
    element = mlir_types.element_of(operation.operands[0].type)
    if element == "i1" and name in _OF_BOOLS:
        return scope.operator(operation, _OF_BOOLS[name])
    if element == "i1" and name in {"arith.maxsi", "arith.minsi"}:
        name = "arith.minsi" if name == "arith.maxsi" else "arith.maxsi"  # true is -1
    if name in _OPERATORS:
        return scope.operator(operation, _OPERATORS[name])
    if name in _UNSIGNED:
        return scope.call(operation, f"signed({_UNSIGNED[name]})", typed=True)
    places = ", ".join("{}" for _ in operation.operands)
    typed = name in {"tt.mulhiui", "math.fma", "math.erf", "math.round", "math.ctpop"}
    return scope.call(operation, f"{_FUNCTIONS[name]}({places})", typed=typed)


def compared(scope: NameScope, operation: Operation) -> Expression:
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


def compared_floats(scope: NameScope, operation: Operation) -> Expression:
    """Return `arith.cmpf`."""
    predicate = operation.integer("predicate")
    if predicate in {0, 15}:
        return Expression("True" if predicate else "False", is_bare=True)
    return scope.operator(operation, _OF_FLOATS[predicate])


def selected(scope: NameScope, operation: Operation) -> Expression:
    """Return `arith.select`."""
    _, first, second = operation.operands
    if mlir_types.pointee_of(first.type) is not None:
        return scope.call(operation, "select({}, {}, {})")
    both = scope.value(first).is_bare and scope.value(second).is_bare
    return scope.call(operation, "np.where({}, {}, {})[()]", typed=both)


def converted(scope: NameScope, operation: Operation) -> Expression:
    """Return a conversion between integers, or from integers to floats."""
    [value] = operation.operands
    element, wanted = (
        mlir_types.element_of(value.type),
        mlir_types.element_of(operation.results[0].type),
    )
    dtype = mlir_types.dtype_of(wanted)
    if operation.name == "arith.trunci" and wanted == "i1":
        return scope.operator(operation, "({} & 1) != 0")
    if element == "i1" and operation.name in {"arith.extsi", "arith.sitofp"}:
        return scope.operator(operation, f"-{{}}.astype({dtype})")  # true is -1
    if element != "i1" and operation.name in {"arith.extui", "arith.uitofp"}:
        return scope.call(operation, f"unsigned({{}}).astype({dtype})", typed=True)
    return scope.operator(operation, f"{{}}.astype({dtype})", atom=True)


def to_integer(scope: NameScope, operation: Operation) -> Expression:
    """Return floats as integers, signed or not."""
    dtype = mlir_types.dtype_of(operation.results[0].type)
    if operation.name == "arith.fptosi":
        return scope.call(operation, f"to_integer({{}}, {dtype})", typed=True)
    return scope.call(
        operation, f"signed(to_integer({{}}, {dtype.replace('np.', 'np.u')}))", typed=True
    )


_RTZ = 0


def to_float(scope: NameScope, operation: Operation) -> Expression:
    """Return floats as floats of another type; `rounding` may ask for towards zero."""
    element = mlir_types.element_of(operation.results[0].type)
    dtype = mlir_types.dtype_of(element)
    narrows = operation.name != "arith.extf"
    rounding = operation.attributes.get("rounding")
    if (
        rounding is not None
        and operation.integer("rounding") == _RTZ
        and element in {"f16", "bf16", "f32"}
    ):
        return scope.call(operation, f"towards_zero({{}}, {dtype})", typed=True)
    if narrows and element.startswith("f8"):
        return scope.call(operation, f"to_float({{}}, {dtype})", typed=True)
    return scope.operator(operation, f"{{}}.astype({dtype})", atom=True)


def bitcast(scope: NameScope, operation: Operation) -> Expression:
    """Return the same bits as another type; of pointers, the same addresses."""
    [value] = operation.operands
    result = operation.results[0]
    pointee = mlir_types.pointee_of(result.type)
    if pointee is not None:
        return scope.call(operation, f"{{}}.cast({mlir_types.dtype_of(pointee)})")
    if mlir_types.element_of(value.type) == mlir_types.element_of(result.type):
        return scope.value(value)
    return scope.call(operation, f"bits({{}}, {mlir_types.dtype_of(result.type)})", typed=True)


def reciprocal_root(scope: NameScope, operation: Operation) -> Expression:
    """Return `math.rsqrt`."""
    return scope.call(operation, "1 / np.sqrt({})", typed=True, atom=False)


def clamped(scope: NameScope, operation: Operation) -> Expression:
    """Return `tt.clampf`; `propagateNan` says what a NaN gives."""
    if operation.integer("propagateNan"):
        return scope.call(operation, "np.minimum(np.maximum({}, {}), {})")
    return scope.call(operation, "np.fmin(np.fmax({}, {}), {})")


_LIBDEVICE: Mapping[str, str] = {
    "rsqrt": "1 / np.sqrt({})", "tanh": "np.tanh({})", "round": "rounded({})",
    "rint": "np.rint({})",
    "nearbyint": "np.rint({})", "exp": "np.exp({})", "fast_exp": "np.exp({})",
    "exp2": "np.exp2({})",
    "exp10": "np.power(np.float64(10), {})", "log": "np.log({})",
    "fast_log": "np.log({})", "log2": "np.log2({})",
    "fast_log2": "np.log2({})", "log10": "np.log10({})", "fast_log10": "np.log10({})",
    "log1p": "np.log1p({})", "expm1": "np.expm1({})", "sin": "np.sin({})", "cos": "np.cos({})",
    "fast_sin": "np.sin({})", "fast_cos": "np.cos({})", "tan": "np.tan({})",
    "fast_tan": "np.tan({})", "asin": "np.arcsin({})", "acos": "np.arccos({})",
    "atan": "np.arctan({})", "atan2": "np.arctan2({}, {})", "sinh": "np.sinh({})",
    "cosh": "np.cosh({})", "asinh": "np.arcsinh({})", "acosh": "np.arccosh({})",
    "atanh": "np.arctanh({})", "pow": "np.power({}, {})", "fast_pow": "np.power({}, {})",
    "copysign": "np.copysign({}, {})", "isnan": "np.isnan({}).astype(np.int32)",
    "isinf": "np.isinf({}).astype(np.int32)", "isnand": "np.isnan({}).astype(np.int32)",
    "isinfd": "np.isinf({}).astype(np.int32)", "finite": "np.isfinite({}).astype(np.int32)",
    "isfinited": "np.isfinite({}).astype(np.int32)", "erf": "erf({})", "trunc": "np.trunc({})",
    "ceil": "np.ceil({})", "floor": "np.floor({})", "fmod": "np.fmod({}, {})",
    "fabs": "np.abs({})", "abs": "np.abs({})", "cbrt": "np.cbrt({})", "hypot": "np.hypot({}, {})",
    "sqrt": "np.sqrt({})", "fmax": "np.fmax({}, {})", "fmin": "np.fmin({}, {})",
    "fma": "fused({}, {}, {})", "div_rn": "{} / {}", "sqrt_rn": "np.sqrt({})",
    "rcp_rn": "1 / {}", "add_rn": "{} + {}", "mul_rn": "{} * {}", "fast_div": "{} / {}",
    "fma_rn": "fused({}, {}, {})", "popc": "count_bits({})", "umulhi": "high_product({}, {})",
    "powi": "np.power({}, {})", "ldexp": "np.ldexp({}, {})", "float_as_int": "bits({}, np.int32)",
    "int_as_float": "bits({}, np.float32)", "max": "np.maximum({}, {})",
    "min": "np.minimum({}, {})",
    "fast_fdivide": "{} / {}", "fdividef": "{} / {}", "saturate": "np.fmin(np.fmax({}, 0), 1)",
}  # fmt: skip
"""libdevice's functions, by their symbol without `__nv_` and the letter of single precision."""


def external(scope: NameScope, operation: Operation) -> Expression:
    """Return a call of libdevice (or its AMD twin, ocml). Raises `Untranslatable` for others."""
    symbol = operation.text("symbol")
    known = symbol.removeprefix("__nv_").removeprefix("__ocml_")
    for ending in ("_f32", "_f64", "_f16", "f", ""):
        short = known.removesuffix(ending)
        if short in _LIBDEVICE and len(operation.operands) == _LIBDEVICE[short].count("{}"):
            text = _LIBDEVICE[short]
            dtype = mlir_types.dtype_of(operation.results[0].type)
            return scope.call(operation, f"({text}).astype({dtype})", typed=True)
    message = f"a call of the external function {symbol[:80]!r}"
    raise Untranslatable(message)


CONVERSIONS = ("arith.extsi", "arith.extui", "arith.trunci", "arith.sitofp", "arith.uitofp",
               "arith.index_cast", "arith.index_castui")  # fmt: skip
EXPRESSIONS: Mapping[str, Callable[[NameScope, Operation], Expression]] = {
    **dict.fromkeys((*_OPERATORS, *_FUNCTIONS, *_UNSIGNED), elementwise),
    **dict.fromkeys(CONVERSIONS, converted),
    **dict.fromkeys(("arith.extf", "arith.truncf", "tt.fp_to_fp"), to_float),
    **dict.fromkeys(("arith.fptosi", "arith.fptoui"), to_integer),
    **dict.fromkeys(("arith.bitcast", "tt.bitcast"), bitcast),
    "arith.cmpi": compared,
    "arith.cmpf": compared_floats,
    "arith.select": selected,
    "math.rsqrt": reciprocal_root,
    "tt.clampf": clamped,
    "tt.extern_elementwise": external,
}
"""By the operation's name."""
