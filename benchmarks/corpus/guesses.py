"""Guesses plausible specializations of a kernel from annotations, defaults, use and names.

Nothing launches these kernels here, so the arguments of a launch must be guessed. The first guess
that Triton accepts is used for the comparison.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from corpus import roles
from corpus.kernels import Kernel
from corpus.values import constexpr_value, flags

_DTYPES = {
    "int1": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "uint32": "u32", "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32",
    "float64": "fp64", "int": "i32", "float": "fp32", "bool": "i1",
}  # fmt: skip
_INTEGERS = re.compile(
    r"idx|ind(ex|ices|ptr)|(^|_)ids?(_|$)|offset|seq_?len|(^|_)cu_|lens?(_|$)|table|mapping|label|"
    r"target|token|pos(ition|_)|slot|count|perm|expert|chunk|start|(^|_)end|(^|_)loc|num_|seed|lock",
    re.IGNORECASE,
)
_FLOATS = re.compile(
    r"eps|scale|alpha|beta|gamma|momentum|(^|_)lr|weight_decay|softcap|cap$|theta|sm_|dropout|"
    r"(^|_)p$|prob|temperature|smoothing|lambda|min|max|limit|factor|value|rate|decay|bias_corr|"
    r"clamp|threshold|ratio",
    re.IGNORECASE,
)
_SINGLES = re.compile(r"scale|lse|mean|rstd|logsumexp|loss|statistic|absmax|code", re.IGNORECASE)
_MASKS = re.compile(r"mask|bool|flag", re.IGNORECASE)


@dataclass(frozen=True)
class Guess:
    """The members of a compile request, which direct compilation gets, too."""

    signature: dict[str, str]
    constexprs: dict[str, Any]
    options: dict[str, int]


@dataclass(frozen=True)
class _Variant:
    element: str
    flag: bool
    block: int
    integer: str = "i32"
    single: str = "fp32"


VARIANTS = (
    _Variant("bf16", flag=True, block=64),
    _Variant("fp32", flag=True, block=64),
    _Variant("bf16", flag=False, block=64),
    _Variant("fp32", flag=False, block=64),
    _Variant("fp16", flag=False, block=32, single="fp16"),
    _Variant("fp16", flag=True, block=16, integer="i64"),
    _Variant("fp32", flag=False, block=128, integer="i64"),
    _Variant("fp32", flag=True, block=16),
    _Variant("i32", flag=False, block=64),
    _Variant("u8", flag=False, block=32),
    _Variant("fp8e4nv", flag=False, block=64),
    _Variant("i1", flag=False, block=64),
)


def guesses(kernel: Kernel) -> Iterator[Guess]:
    """Yield distinct specializations, likely ones first."""
    seen: list[Guess] = []
    for variant in VARIANTS:
        guess = _guess(kernel, variant)
        if guess not in seen:
            seen.append(guess)
            yield guess


def _guess(kernel: Kernel, variant: _Variant) -> Guess:
    config = next(iter(kernel.configs), {"constexprs": {}, "options": {}})
    tuned = set(config["constexprs"]) | set(kernel.heuristics)
    pointed = roles.pointers(kernel.node, kernel.tree)
    described = roles.descriptors(kernel.node)
    tested = flags(kernel.node)
    signature: dict[str, str] = {}
    constexprs: dict[str, Any] = {}
    for argument, default in _parameters(kernel.node):
        name = argument.arg
        annotation = ast.unparse(argument.annotation) if argument.annotation else ""
        if "constexpr" in annotation or name in tuned:
            tuned_value = config["constexprs"].get(name)
            if tuned_value is not None:
                constexprs[name] = tuned_value
            elif default is None:
                is_flag = name in tested or name in kernel.heuristics
                value = constexpr_value(
                    kernel.node, name, variant.block, variant.element, variant.flag, is_flag
                )
                constexprs[name] = value
        elif name in described:
            block = ",".join([str(variant.block)] * described[name])
            signature[name] = f"tensordesc<{variant.element}[{block}]>"
        elif name in pointed:
            signature[name] = f"*{_element(name, variant)}:16"
        else:
            signature[name] = _scalar(name, annotation)
    return Guess(signature, constexprs, dict(config["options"]))


def _parameters(node: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    positional = [*node.args.posonlyargs, *node.args.args]
    missing = [None] * (len(positional) - len(node.args.defaults))
    yield from zip(positional, [*missing, *node.args.defaults], strict=True)
    yield from zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)


def _element(name: str, variant: _Variant) -> str:
    if _MASKS.search(name):
        return "i1"
    if _INTEGERS.search(name):
        return variant.integer
    if _SINGLES.search(name):
        return variant.single
    return variant.element


def _scalar(name: str, annotation: str) -> str:
    known = _DTYPES.get(annotation.rsplit(".", 1)[-1].strip("'\""))
    if known:
        return known
    if "stride" in name.lower():
        return "i32:16"
    if _FLOATS.search(name) and not _INTEGERS.search(name):
        return "fp32"
    return "i32"
