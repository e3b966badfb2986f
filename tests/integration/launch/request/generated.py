"""Generates kernels and arguments from a seed: annotations, flags and values of every sort."""

import random
import re
from dataclasses import dataclass
from typing import Any

ANNOTATIONS = [
    "", "", "", "", ": tl.int32", ": tl.int64", ": 'i64'", ": tl.uint32", ": int", ": float",
    ": tl.float32", ": 'fp16'", ": bool", ": tl.int1", ": tl.int8", ": tl.int16", ": 'u8'",
    ": tl.uint64", ": tl.float64", ": tl.bfloat16", ": I", ": language.int16", ": Float",
    ": 'language.int32'", ": Int or None", ": 'constexpr_like'[9:] or tl.int8",
]  # fmt: skip
POINTER_ANNOTATIONS = [
    *[""] * 4,
    ": '*fp32'",
    ": tl.const",
    ": 'const float*'",
    ": '*kfp16'",
    ": tl.pointer_type(tl.float32)",
    ": tl.tensor",
    ": '*i64'",
    ": 'float*'",
    ": P",
    ": tl.pointer_type(I)",
    ": Constant",
    ": 'tl.pointer_type(tl.float32)'",
    ": '* float'",
]
CONSTEXPRS = [
    ": tl.constexpr",
    ": tl.constexpr",
    ": C",
    ": ce",
    ": 'tl.constexpr'",
    ": 'C[constexpr]'",
    ": language.core.constexpr",
    ": (ce if tl else int)",
]
HEAD = """import triton
import triton.language as tl
from triton import language
from triton.language import constexpr as ce
from triton.language import float32 as Float

C = tl.constexpr
I = Int = tl.int64
P = "*fp32"
Constant = tl.const
NAMES = ["p1", 2]
SIXTEEN = 16
PAIR = (1, None, 16)


@triton.jit
def helper(x):
    return x
"""
PLAIN_HEAD = "import triton\nimport triton.language as tl\n" + HEAD[HEAD.index("\n\n\n@") :]
DEFAULTS = [
    " = 16",
    " = 1",
    " = None",
    " = SIXTEEN",
    " = tl.constexpr(4)",
    " = C(1)",
    " = 2 * SIXTEEN",
    " = 1.5",
    " = True",
    " = (1, None, 16)",
    " = PAIR",
    " = helper",
    " = ce(None)",
]
NAMED = re.compile(r"\b(I|Int|Float|P|C|ce|Constant|language|NAMES|SIXTEEN|PAIR|helper|or|%)\b|%")
FLAGS = ["NAMES", "[SIXTEEN - 15]", "{0, 'p3'}", "('p0',) + ('p1',)", "['p%d' % 2]"]
CONSTANTS = [
    64, 1.5, None, "x", True, {"tuple": [1, None, "a"]}, {"dtype": "fp16"}, {"function": "helper"},
    {"tuple": [{"tuple": [2.5]}, True]},
]  # fmt: skip
DTYPES = ["i1", "i8", "i32", "i64", "u8", "fp16", "bf16", "fp32", "fp64", "fp8e5", "fp8e4nv"]
INTEGERS = [
    0, 1, 2, 15, 16, 17, 48, -1, -16, 100, 2**31 - 16, 2**31 - 1, 2**31, 2**31 + 3, -(2**31),
    -(2**31) - 1, 2**62, 2**63 - 1, 2**63, 2**63 + 16, 2**64 - 1, -(2**63),
]  # fmt: skip
SMALL = [0, 1, 2, 16, 17, 100]
ITEM_BYTES = {"i1": 1, "i8": 1, "u8": 1, "fp8e5": 1, "fp8e4nv": 1, "fp16": 2, "bf16": 2}
ITEM_BYTES |= {"i32": 4, "fp32": 4, "i64": 8, "fp64": 8}


@dataclass(frozen=True)
class Launch:
    """One launch: `request` has its arguments for a request, `jit` for the JIT."""

    kernel: str
    request: dict[str, Any]
    constexprs: dict[str, Any]
    jit: dict[str, Any]


class Choices(random.Random):
    """Random choices; `plain` ones name only Triton."""

    plain = False

    def word(self, words: list[str]) -> str:
        """Return one of `words`."""
        return self.choice([one for one in words if not (self.plain and NAMED.search(one))])


def generate(
    seed: int, kernels: int, launches: int, *, plain: bool = False
) -> tuple[str, list[Launch]]:
    """Return source of `kernels` kernels, and as many `launches` of each."""
    source = Choices(seed)
    source.plain = plain
    text = [PLAIN_HEAD if plain else HEAD, ""]
    made = []
    for index in range(kernels):
        name = f"kernel_{index}"
        parameters = [_parameter(source, f"p{position}") for position in range(6)]
        text += [*_definition(source, name, parameters), ""]
        made += [_launch(source, name, parameters) for _ in range(launches)]
    return "\n".join(text), made


@dataclass(frozen=True)
class _Parameter:
    name: str
    kind: str
    annotation: str
    default: str = ""


def _parameter(source: Choices, name: str) -> _Parameter:
    kind = source.choice(["pointer", "pointer", "scalar", "scalar", "tuple", "constexpr", "desc"])
    if kind == "scalar":
        annotation = source.word(ANNOTATIONS)
        default = source.word(["", "", *DEFAULTS]) if not annotation else ""
        return _Parameter(name, kind, annotation, default)
    if kind == "pointer":
        return _Parameter(name, kind, source.word(POINTER_ANNOTATIONS))
    if kind == "constexpr":
        default = source.word(["", "", " = SIXTEEN", " = 'text'", " = tl.constexpr(2)"])
        return _Parameter(name, kind, source.word(CONSTEXPRS), default)
    return _Parameter(name, kind, "")


def _definition(source: Choices, name: str, parameters: list[_Parameter]) -> list[str]:
    names = [parameter.name for parameter in parameters]
    plain, unaligned = (_flag(source, names) for _ in range(2))
    written = ", ".join(f"{one.name}{one.annotation}{one.default}" for one in parameters)
    flags = f"do_not_specialize={plain}, do_not_specialize_on_alignment={unaligned}"
    return [f"@triton.jit({flags})", f"def {name}(*, {written}):", "    pass", ""]


def _flag(source: Choices, names: list[str]) -> str:
    if source.random() < 0.2 and not source.plain:
        return source.word(FLAGS)
    chosen = [one for one in names if source.random() < 0.2]
    return repr([names.index(one) if source.random() < 0.3 else one for one in chosen])


def _launch(source: Choices, kernel: str, parameters: list[_Parameter]) -> Launch:
    request: dict[str, Any] = {}
    constexprs: dict[str, Any] = {}
    jit: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.default and source.random() < 0.5:
            continue
        if parameter.kind == "constexpr" and source.random() < 0.5:
            constexprs[parameter.name] = jit[parameter.name] = source.choice(CONSTANTS)
            continue
        request[parameter.name], jit[parameter.name] = _argument(source, parameter)
    return Launch(kernel, request, constexprs, jit)


def _argument(source: Choices, parameter: _Parameter) -> tuple[Any, Any]:
    if parameter.kind == "pointer":
        if source.random() < 0.1:
            return None, None
        return _tensor(source)
    if parameter.kind == "tuple":
        items = [_item(source, depth=0) for _ in range(source.randrange(4))]
        return {"tuple": [item[0] for item in items]}, {"tuple": [item[1] for item in items]}
    if parameter.kind == "desc":
        return _descriptor(source)
    if parameter.kind == "constexpr":
        number = source.choice([64, -1, 2**62, 1.5, True, None])
    elif parameter.annotation:
        number = _annotated(source, parameter.annotation)
    else:
        number = source.choice([*INTEGERS, True, False, 0.0, 1.0, 1.5, None])
    return number, number


def _annotated(source: Choices, annotation: str) -> Any:
    if "float" in annotation or "fp" in annotation:
        return source.choice([0.0, 1.0, 1, 16, 2.5])
    if "bool" in annotation or "int1" in annotation:
        return source.choice([True, False])
    return source.choice([*SMALL, True])


def _item(source: Choices, depth: int) -> tuple[Any, Any]:
    choice = source.random()
    if choice < 0.4:
        return _tensor(source)
    if choice < 0.6 and depth < 2:
        items = [_item(source, depth + 1) for _ in range(source.randrange(3))]
        return {"tuple": [item[0] for item in items]}, {"tuple": [item[1] for item in items]}
    number = source.choice([*INTEGERS, True, 1.0, None])
    return number, number


def _tensor(source: Choices) -> tuple[Any, Any]:
    dtype = source.choice(DTYPES)
    offset = source.choice([0, 0, 1, 2, 4, 8, 16])
    align_bytes = source.choice([8, 16, 16, 16, 64])
    buffer = {
        "shape": [8], "dtype": dtype, "offset": offset, "align_bytes": align_bytes, "output": True,
    }  # fmt: skip
    # no more aligned than promised
    address = align_bytes * 4097 + offset * ITEM_BYTES[dtype]
    if align_bytes < 16 and address % 16 == 0:
        address += align_bytes
    return buffer, {"tensor": {"dtype": dtype, "address": address}}


def _descriptor(source: Choices) -> tuple[Any, Any]:
    dtype = source.choice(["fp16", "fp32", "i8"])
    block = source.choice([[16], [32, 64], [8, 8, 8]])
    base = {"shape": [64] * len(block), "dtype": dtype, "output": True}
    tensor = {"tensor": {"dtype": dtype, "address": 4096}}
    return (
        {"descriptor": {"base": base, "block_shape": block}},
        {"descriptor": {"base": tensor, "block_shape": block}},
    )
