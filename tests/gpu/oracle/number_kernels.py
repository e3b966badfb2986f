"""Candidates for edge cases of number types: conversions and operations on odd values.

They do not count among the real kernels.
"""

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.gpu.oracle.candidates import Candidate, Guess
from tests.gpu.oracle.guessed_launches import GuessedLaunch
from tests.gpu.oracle.odd_values import FLOATS, odd_values, plain_values
from tests.integration.compiler.kernels import KERNELS

N = 256
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
_COMMON = ("add", "sub", "mul", "lt", "le", "gt", "ge", "eq", "ne", "minimum", "maximum",
           "max_builtin", "where")  # fmt: skip
_WHOLE = ("floordiv", "mod", "and", "or", "xor", "shl", "shr", "truediv")
_REAL = ("truediv", "mod", "minimum_nan", "maximum_nan", "fma", "multiply_add", "clamp",
         "clamp_nan", "fdiv", "logical_and", "logical_or")  # fmt: skip
_LIBRARY = ("div_rn", "pow", "atan2", "fmod", "remainder", "copysign", "nextafter", "hypot")
_BOTH_SIDES = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil",
               "sqrt_rn", "sigmoid", "abs", "neg")  # fmt: skip
_OF_LIBRARY = (
    "tanh", "round", "rint", "nearbyint", "trunc", "log1p", "expm1", "isnan", "isinf", "signbit",
    "acos", "asinh", "atan", "cbrt", "erfinv", "lgamma", "tgamma", "j0", "normcdf", "ilogb",
)  # fmt: skip
_OF_FLOATS = ("fast_expf", "fast_logf", "float2int_rn", "float2int_rd", "finitef")


def of_numbers() -> Iterator[Candidate]:
    """Yield a candidate for each operation and type."""
    for source in (*FLOATS, *INTEGERS, "i1"):
        for target in (*FLOATS, *INTEGERS, "i1"):
            if source != target:
                yield _candidate("convert", {"x": source, "z": target}, TO=_type(target))
    for source, target in (("fp32", "fp16"), ("fp32", "bf16")):
        yield _candidate("convert_truncating", {"x": source, "z": target}, TO=_type(target))
    for source, target in (("fp32", "i32"), ("u16", "bf16"), ("i8", "fp8e5"), ("fp64", "u64")):
        yield _candidate("reinterpret", {"x": source, "z": target}, TO=_type(target))
    for kind in (*FLOATS[:4], *INTEGERS, "i1"):
        yield from _of_two(kind)
    yield from _of_one()
    yield from _together()
    yield from _dots()
    yield from _of_libdevice()
    for operation, kind in (("rand", "fp32"), ("randn", "fp32"), ("randint", "i32")):
        for seed in ("i32", "i64"):
            yield _candidate("random_numbers", {"z": kind}, scalars={"seed": (seed, 123456789)},
                             OP=operation)  # fmt: skip
    for kind, count in (("u8", 200), ("u32", 3_000), ("u64", 100), ("i16", 90), ("i64", 77)):
        yield _candidate("loop_of_unsigned", {"z": "i32"}, scalars={"n": (kind, count)})


def _of_two(kind: str) -> Iterator[Candidate]:
    operations = _COMMON + (_REAL if kind in FLOATS else _WHOLE)
    operations += _LIBRARY if kind in FLOATS[:2] else ()
    operations += ("umulhi",) if kind in {"i32", "i64", "u32", "u64"} else ()
    for operation in operations:
        compares = operation in {"lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or"}
        quotient = {"truediv": "fp32"} if kind not in FLOATS else {}
        result = "i1" if compares else quotient.get(operation, kind)
        yield _candidate("binary", {"x": kind, "y": kind, "z": result}, OP=operation)


def _of_one() -> Iterator[Candidate]:
    for kind in FLOATS[:2]:
        for operation in (*_BOTH_SIDES, *_OF_LIBRARY):
            flags = {"isnan", "isinf", "signbit", "finitef", "ilogb"}
            result = "i32" if operation in flags else kind
            yield _candidate("unary", {"x": kind, "z": result}, OP=operation)
    for operation in _OF_FLOATS:
        result = "fp32" if "fast" in operation else "i32"
        yield _candidate("unary", {"x": "fp32", "z": result}, OP=operation)
    for kind in FLOATS[2:4]:
        for operation in ("abs", "neg", "not"):
            yield _candidate("unary", {"x": kind, "z": "i1" if operation == "not" else kind},
                             OP=operation)  # fmt: skip
    for kind in (*INTEGERS, "i1"):
        for operation in ("neg", "invert", "not", "abs"):
            yield _candidate("unary", {"x": kind, "z": "i1" if operation == "not" else kind},
                             OP=operation)  # fmt: skip
    for kind in ("i32", "i64"):
        for operation in ("clz", "popc", "brev", "ffs"):
            result = kind if operation == "brev" else "i32"
            yield _candidate("unary", {"x": kind, "z": result}, OP=operation)


def _together() -> Iterator[Candidate]:
    for kind in (*FLOATS[:4], *INTEGERS[:4], "u8", "u32", "i1"):
        whole = kind not in FLOATS
        for operation in ("sum", "max", "min", "argmax", "argmin", "argmax_any") + (
            ("xor_sum", "reduce_or") if whole else ()
        ):
            result = "i32" if "arg" in operation else kind
            yield _candidate("reduce", {"x": kind, "z": result}, OP=operation)
        for operation in ("cumsum", "cumsum_reverse", "cumprod", "sort", "sort_descending", "flip"):
            yield _candidate("scan", {"x": kind, "z": kind}, OP=operation)
    for kind in ("fp32", "fp64", "fp16", "bf16", "i32", "i64", "u32", "u64"):
        whole = kind not in FLOATS
        for operation in ("add", "max", "min", "xchg") + (
            ("and", "or", "xor", "cas") if whole else ()
        ):
            yield _candidate("atomic", {"x": kind, "z": kind}, OP=operation)


def _dots() -> Iterator[Candidate]:
    for kind, precisions in {
        "fp32": ("tf32", "tf32x3", "ieee"), "fp16": ("ieee",), "bf16": ("ieee",),
        "fp8e4nv": ("ieee",), "fp8e5": ("ieee",), "fp64": ("ieee",),
    }.items():  # fmt: skip
        for precision in precisions:
            out = "fp64" if kind == "fp64" else "fp32"
            yield _candidate("dot", {"x": kind, "y": kind, "z": out}, plain=True,
                             PRECISION=precision, OUT=_type(out))  # fmt: skip
    yield _candidate("dot", {"x": "fp16", "y": "fp16", "z": "fp16"}, plain=True,
                     PRECISION="ieee", OUT=_type("fp16"))  # fmt: skip
    yield _candidate("dot", {"x": "i8", "y": "i8", "z": "i32"}, plain=True,
                     PRECISION="ieee", OUT=_type("i32"))  # fmt: skip


_TO_SHORT = {"int32": "i32", "int64": "i64", "uint32": "u32", "uint64": "u64"}
_CALL = """import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def {name}_of(
    {pointers},
    N: tl.constexpr,
):
    lanes = tl.arange(0, N)
    tl.store(z_ptr + lanes, libdevice.{name}({values}))
"""


def _of_libdevice() -> Iterator[Candidate]:
    """Yield a kernel for each function and signature of the installed Triton's libdevice."""
    spec = importlib.util.find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "language/extra/cuda/libdevice.py"
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        for table in (one for one in ast.walk(node) if isinstance(one, ast.Dict)):
            for key, value in zip(table.keys, table.values, strict=True):
                kinds = re.findall(r"dtype\('(\w+)'\)", ast.unparse(key) if key else "")
                results = re.findall(r"dtype\('(\w+)'\)", ast.unparse(value))
                if not 0 < len(kinds) < 4:
                    continue
                yield _libdevice_call(node.name, [_TO_SHORT.get(k, k) for k in kinds],
                                      _TO_SHORT.get(results[0], results[0]))  # fmt: skip


def _libdevice_call(name: str, kinds: list[str], result: str) -> Candidate:
    arguments = "xyw"[: len(kinds)]
    names = [f"{one}_ptr" for one in (*arguments, "z")]
    source = _CALL.format(
        name=name,
        pointers=", ".join(names),
        values=", ".join(f"tl.load({one}_ptr + lanes)" for one in arguments),
    )
    signature = {
        f"{one}_ptr": f"*{kind}"
        for one, kind in zip((*arguments, "z"), (*kinds, result), strict=True)
    }
    contents = {
        f"{one}_ptr": odd_values(one, kind, N)
        for one, kind in zip((*arguments, "z"), (*kinds, result), strict=True)
    }
    launch = GuessedLaunch((1, 1, 1), {}, contents, N)
    guess = Guess(signature, {"N": N}, {}, {})
    return Candidate("libdevice", f"{name}_of", source, {}, (guess,), launch)


def _type(kind: str) -> dict[str, str]:
    return {"dtype": kind}


def _candidate(
    kernel: str, buffers: dict[str, str], *, plain: bool = False,
    scalars: dict[str, tuple[str, int]] | None = None, **constexprs: Any,
) -> Candidate:  # fmt: skip
    signature = {f"{name}_ptr": f"*{kind}" for name, kind in buffers.items()}
    signature |= {name: kind for name, (kind, _) in (scalars or {}).items()}
    size = 1024 if plain else N
    contents = {
        f"{name}_ptr": (plain_values if plain else odd_values)(name, kind, size)
        for name, kind in buffers.items()
    }
    values = {name: value for name, (_, value) in (scalars or {}).items()}
    launch = GuessedLaunch((1, 1, 1), values, contents, size)
    guess = Guess(signature, {"N": size, **constexprs}, {}, {})
    source = (KERNELS / "oracle" / "numbers.py").read_text()
    return Candidate("numbers", kernel, source, {}, (guess,), launch)
