"""The TTIR of the fixed kernels, as Triton lowers it for a recorded launch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

from tests.programs.generated import kernels

TARGET = GPUTarget("cuda", 90, 32)
Kernel = tuple[str, tuple[str, ...]]


def kernels_of(tape: Mapping[str, Any]) -> tuple[dict[str, Kernel], list[str]]:
    """Return the kernels that a tape launches, by name, and the name for each launch."""
    texts: dict[str, Kernel] = {}
    launches = []
    for op in tape["ops"]:
        if op["op"] != "launch":
            continue
        kernel = tape["kernels"][op["kernel"]]["name"]
        signature = tuple((name, _type(value, tape)) for name, value in op["args"].items())
        constants = tuple(op["constexprs"].items())
        name = f"{kernel}{signature}{constants}"
        texts[name] = (_lowered(kernel, signature, constants), tuple(op["args"]))
        launches.append(name)
    return texts, launches


def _type(value: Any, tape: Mapping[str, Any]) -> str:
    if isinstance(value, dict) and "t" in value:
        dtype = tape["tensors"][value["t"]][0]
        return f"*{dtype}"
    if isinstance(value, (float, dict)):  # {"float": "inf"}
        return "fp32"
    return "i32" if -(2**31) <= value < 2**31 else "i64"


@cache
def _lowered(
    name: str, signature: tuple[tuple[str, str], ...], constants: tuple[tuple[str, Any], ...]
) -> str:
    function = getattr(kernels, name)
    types = {one: "constexpr" for one, _ in constants} | dict(signature)
    ordered = {one: types[one] for one in function.arg_names}
    values = {(function.arg_names.index(one),): value for one, value in constants}
    source = ASTSource(function, ordered, values, {})
    backend = make_backend(TARGET)
    options = backend.parse_options({"enable_fp_fusion": True})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    codegen, modules = backend.get_codegen_implementation(options), backend.get_module_map()
    return str(source.make_ir(TARGET, options, codegen, modules, context))
