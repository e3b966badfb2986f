"""libdevice's functions, and those of its AMD twin, as NumPy expressions: all that Triton names."""

from collections.abc import Mapping

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import NameScope, NumpyExpression

_OF_NUMPY = {
    "tanh": "tanh", "rint": "rint", "nearbyint": "rint", "exp": "exp", "exp2": "exp2",
    "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "expm1": "expm1",
    "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "atan2": "arctan2", "sinh": "sinh", "cosh": "cosh", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "pow": "power", "copysign": "copysign",
    "isnan": "isnan", "isinf": "isinf", "finite": "isfinite", "isfinite": "isfinite",
    "trunc": "trunc", "ceil": "ceil", "floor": "floor", "fmod": "fmod", "fabs": "abs",
    "abs": "abs", "iabs": "abs", "llabs": "abs", "cbrt": "cbrt", "hypot": "hypot",
    "sqrt": "sqrt", "max": "maximum", "min": "minimum",
    "llmax": "maximum", "llmin": "minimum", "signbit": "signbit", "nextafter": "nextafter",
    "ldexp": "ldexp", "scalbn": "ldexp", "powi": "power", "pown": "power", "div": "divide",
    "fdivide": "divide",
}  # fmt: skip
_OF_TWO = frozenset(
    {
        "atan2", "pow", "copysign", "fmod", "hypot", "max", "min", "llmax",
        "llmin", "nextafter", "ldexp", "scalbn", "powi", "pown", "div", "fdivide",
    }
)  # fmt: skip
_FAST = ("exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "fdivide")
_OWN: Mapping[str, str] = {
    "rsqrt": "np.reciprocal(np.sqrt({}))", "exp10": "np.power(np.float64(10), {})",
    "fast_pow": "fast_power({}, {})", "fast_exp10": "np.power(np.float64(10), {})",
    "fast_div": "np.divide({}, {})",
    "round": "rounded({})", "erf": "erf({})", "erfc": "erfc({})", "erfcx": "erfcx({})",
    "erfinv": "erfinv({})", "erfcinv": "erfcinv({})", "normcdf": "normal_cdf({})",
    "normcdfinv": "normal_cdf_inverse({})", "tgamma": "gamma({})", "lgamma": "log_gamma({})",
    "j0": "bessel_j(0, {})", "j1": "bessel_j(1, {})", "jn": "bessel_j({}, {})",
    "y0": "bessel_y(0, {})", "y1": "bessel_y(1, {})", "yn": "bessel_y({}, {})",
    "cyl_bessel_i0": "bessel_i(0, {})", "cyl_bessel_i1": "bessel_i(1, {})",
    "i0": "bessel_i(0, {})", "i1": "bessel_i(1, {})",
    "sinpi": 'of_half_turns("sin", {})', "cospi": 'of_half_turns("cos", {})',
    "rcbrt": "np.reciprocal(np.cbrt(np.float64({})))", "rhypot": "np.reciprocal(length({}, {}))",
    "norm3d": "length({}, {}, {})", "norm4d": "length({}, {}, {}, {})",
    "rnorm3d": "np.reciprocal(length({}, {}, {}))",
    "rnorm4d": "np.reciprocal(length({}, {}, {}, {}))",
    "fdim": "difference({}, {})", "remainder": "remainder_of({}, {})",
    "logb": "exponent({})", "ilogb": "whole_exponent({})",
    "llrint": "to_integer(np.rint({}), np.int64)", "llround": "to_integer(rounded({}), np.int64)",
    "fma": "fused({}, {}, {})", "saturate": "np.fmin(maxnum({}, 0), 1)",
    "fmax": "maxnum({}, {})", "fmin": "minnum({}, {})",
    "frsqrt_rn": "np.reciprocal(np.sqrt(np.float64({})))",
    "popc": "count_bits({})", "popcll": "count_bits({})", "popcount_u32": "count_bits({})",
    "popcount_u64": "count_bits({})", "clz": "leading_zeros({})", "clzll": "leading_zeros({})",
    "clz_u32": "leading_zeros({})", "clz_u64": "leading_zeros({})", "ffs": "first_one({})",
    "ffsll": "first_one({})", "brev": "reversed_bits({})", "brevll": "reversed_bits({})",
    "byte_perm": "chosen_bytes({}, {}, {})", "mulhi": "high_signed_product({}, {})",
    "mul64hi": "high_signed_product({}, {})", "umulhi": "high_product({}, {})",
    "umul64hi": "high_product({}, {})", "mul24": "low_product({}, {}, True)",
    "umul24": "low_product({}, {}, False)", "sad": "distance({}, {}, {}, True)",
    "usad": "distance({}, {}, {}, False)", "hadd": "halved_sum({}, {}, True)",
    "uhadd": "halved_sum({}, {}, False)", "rhadd": "halved_sum({}, {}, True, 1)",
    "urhadd": "halved_sum({}, {}, False, 1)",
    "umax": "signed(np.maximum(unsigned({}), unsigned({})))",
    "umin": "signed(np.minimum(unsigned({}), unsigned({})))",
    "ullmax": "signed(np.maximum(unsigned({}), unsigned({})))",
    "ullmin": "signed(np.minimum(unsigned({}), unsigned({})))",
    "float_as_int": "bits({}, np.int32)", "float_as_uint": "bits({}, np.int32)",
    "int_as_float": "bits({}, np.float32)", "uint_as_float": "bits({}, np.float32)",
    "double_as_longlong": "bits({}, np.int64)", "longlong_as_double": "bits({}, np.float64)",
    "double2hiint": "word_of({}, 1)", "double2loint": "word_of({}, 0)",
    "hiloint2double": "of_words({}, {})",
    "rcp64h": "of_words(word_of(np.reciprocal({}), 1), np.int32(0))",
}  # fmt: skip
_WAYS = {"rn": "np.rint", "rd": "np.floor", "ru": "np.ceil", "rz": "np.trunc"}
_INTEGERS = {"int": "np.int32", "uint": "np.uint32", "ll": "np.int64", "ull": "np.uint64"}
_FLOATS = {"float": "np.float32", "double": "np.float64"}
_ROUNDED = {
    "add": "add_directed({way}, {}, {})", "sub": "add_directed({way}, {}, np.negative({}))",
    "mul": "multiply_directed({way}, {}, {})", "div": "divide_directed({way}, {}, {})",
    "rcp": "divide_directed({way}, {dtype}(1), {})", "sqrt": "root_directed({way}, {})",
    "fma": "fused_directed({way}, {}, {}, {})",
}  # fmt: skip


def _rounded() -> dict[str, str]:
    """Return the functions whose names end in a direction: `fadd_rz`, `float2int_rn` and so on."""
    functions = {}
    for way, whole in _WAYS.items():
        for name, text in _ROUNDED.items():
            for letter, dtype in (("f", "np.float32"), ("d", "np.float64"), ("", "np.float32")):
                template = text.replace("{way}", f'"{way}"').replace("{dtype}", dtype)
                functions[f"{letter}{name}_{way}"] = template
        functions[f"fmaf_{way}"] = functions[f"fma_{way}"]
        for floats, dtype in _FLOATS.items():
            for integers, wanted in _INTEGERS.items():
                to_integer = f"to_integer({whole}({{}}), {wanted})"
                is_signed = not integers.startswith("u")
                source = "{}" if is_signed else "unsigned({})"
                functions[f"{floats}2{integers}_{way}"] = (
                    to_integer if is_signed else f"signed({to_integer})"
                )
                functions[f"{integers}2{floats}_{way}"] = (
                    f'cast_directed("{way}", {source}, {dtype})'
                )
        functions[f"double2float_{way}"] = f'cast_directed("{way}", {{}}, np.float32)'
    return functions


FUNCTIONS: Mapping[str, str] = {
    **{name: f"np.{function}({'{}, {}' if name in _OF_TWO else '{}'})"
       for name, function in _OF_NUMPY.items()},
    **{f"fast_{name}": f"np.{_OF_NUMPY[name]}({'{}, {}' if name in _OF_TWO else '{}'})"
       for name in _FAST},
    **_OWN,
    **_rounded(),
}  # fmt: skip
"""NumPy text by a function's symbol, without its prefix and the letter of its precision."""
_PREFIXES = ("__nv_", "__ocml_", "__ockl_", "__triton_hip_")
_ENDINGS = ("", "_f32", "_f64", "_f16", "f", "d")


def external(scope: NameScope, operation: Operation) -> NumpyExpression:
    """Return a call of libdevice (or its AMD twin, ocml). Raises `Untranslatable` for others."""
    symbol = operation.text("symbol")
    text = template_of(symbol, len(operation.operands))
    if text is None:
        message = f"a call of the external function {symbol[:80]!r}"
        raise Untranslatable(message)
    made = mlir_types.element_of(operation.results[0].type)
    if _is_flushed(symbol) and operation.operands:
        kinds = [mlir_types.element_of(operand.type) for operand in operation.operands]
        places = ["without_denormals({})" if kind == "f32" else "{}" for kind in kinds]
        text = text.format(*places)
        text = f"without_denormals({text})" if made == "f32" else text
    return scope.call(operation, f"({text}).astype({mlir_types.dtype_of(made)})", typed=True)


def _is_flushed(symbol: str) -> bool:
    """Return whether a function of fp32 treats subnormals as 0."""
    name = symbol.removeprefix("__nv_")
    return symbol.startswith("__nv_") and name.startswith(_FLUSHED)


_FLUSHED = (
    "ceilf", "div", "erfcinvf", "fast_", "fdiv", "float2", "floorf", "fma", "fmodf", "fmul",
    "frcp", "frsqrt", "fsqrt", "ilogbf", "ldexpf", "lgammaf", "normcdfinvf", "remainderf", "rsqrtf",
    "scalbnf", "sqrtf", "tgammaf", "y0f", "y1f", "ynf",
)  # fmt: skip
"""Beginnings of the names of such functions, as an H200 has them."""


def template_of(symbol: str, operands: int) -> str | None:
    """Return the text with places for the operands, None for an unknown function."""
    prefix = next((prefix for prefix in _PREFIXES if symbol.startswith(prefix)), "")
    known = symbol.removeprefix(prefix)
    for ending in _ENDINGS:
        text = FUNCTIONS.get(known.removesuffix(ending))
        if text is not None and known.endswith(ending) and text.count("{}") == operands:
            return text
    return None
