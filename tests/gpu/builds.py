"""The cubins that the GPU tests use; `make_cubins.py` makes them."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler.abi import Abi

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("TRITOND_TEST_CUBINS", ROOT / ".artifacts" / "cubins"))
SOURCE = Path(__file__).parent / "kernels.py"
ARCH = 90

_VECTOR_ADD = {"x_ptr": "*fp32", "y_ptr": "*fp32", "output_ptr": "*fp32", "n_elements": "i32"}
_BY_16 = {name: ["divisible_by_16"] for name in _VECTOR_ADD}
_BLOCK = {"BLOCK_SIZE": 1024}
_TILE = {"M": 64, "N": 32}
_MATMUL = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "K": "i32"}
_MATMUL_BY_16 = {name: ["divisible_by_16"] for name in _MATMUL}


@dataclass(frozen=True)
class Build:
    """One kernel compiled with one specialization."""

    name: str
    kernel: str
    signature: dict[str, Any]
    constexprs: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, list[str]] = field(default_factory=dict)


def _vector_add(name: str, **options: Any) -> Build:
    return Build(name, "add_kernel", _VECTOR_ADD, _BLOCK, options, _BY_16)


def _matmul(name: str, num_stages: int, m: int, n: int, k: int) -> Build:
    tile = {"M": m, "N": n, "BLOCK_K": k}
    options = {"num_stages": num_stages, "num_warps": 8}
    return Build(name, "matmul", _MATMUL, tile, options, _MATMUL_BY_16)


BUILDS = [
    _vector_add("add"),
    _vector_add("add_cluster", num_ctas=2),
    _vector_add("add_cooperative", launch_cooperative_grid=True),
    _vector_add("add_pdl", launch_pdl=True),
    Build("add_half", "add_half", {"x_ptr": "*fp16", "output_ptr": "*fp16", "n_elements": "i32"},
          _BLOCK),
    Build("double_bf16", "add_half",
          {"x_ptr": "*bf16", "output_ptr": "*bf16", "n_elements": "i32"}, _BLOCK),
    Build("store_at", "store_at", {"output_ptr": "*fp32", "index": "i32"}),
    Build("copy_bytes", "copy_bytes",
          {"x_ptr": "*i8", "output_ptr": "*i8", "n_elements": "i32"}),
    Build("store_at_fp16", "store_at", {"output_ptr": "*fp16", "index": "i32"}),
    Build("load_at", "load_at", {"x_ptr": "*fp32", "output_ptr": "*fp32", "index": "i32"}),
    Build("peek_before", "peek_before",
          {"x_ptr": "*fp32", "output_ptr": "*fp32", "distance": "i32"}, _BLOCK),
    Build("store_far", "store_far", {"output_ptr": "*fp32", "distance": "i64"}),
    Build("misaligned", "misaligned", {"output_ptr": "*fp32"}),
    Build("assertion", "assertion", {"x_ptr": "*fp32"}, options={"debug": True}),
    Build("printing", "printing", {"x_ptr": "*fp32"}),
    Build("endless", "endless", {"x_ptr": "*i32", "output_ptr": "*i32"}),
    Build("increment", "increment", {"x_ptr": "*fp32", "n_elements": "i32"}, _BLOCK),
    Build("lazy", "lazy", {"output_ptr": "*fp32", "n_elements": "i32"}, _BLOCK),
    Build("spoil_input", "spoil_input", {"x_ptr": "*fp32", "output_ptr": "*fp32"}),
    Build("read_unwritten", "read_unwritten", {"x_ptr": "*fp32", "output_ptr": "*fp32"}),
    Build("race_in_shared", "race_in_shared", {"output_ptr": "*i32"}, {"BLOCK_SIZE": 128}),
    Build("trapped", "trapped", {"output_ptr": "*i32"}),
    Build("tickets", "tickets", {"counter_ptr": "*i32", "output_ptr": "*i32"}),
    Build("scalars", "scalars", {
        "o_ptr": "*i64", "f_ptr": "*fp64", "yes": "i1", "a": "i8", "b": "i16", "c": "i32",
        "d": "i64", "e": "u8", "f": "u16", "g": "u32", "h": "u64", "half": "fp16",
        "brain": "bf16", "single": "fp32", "double": "fp64"}),
    Build("tuples", "tuples", {"pair": ["*fp32", "i32"], "output_ptr": "*fp32"}),
    *(Build(f"copy_tile_{dtype}", "copy_tile", {
        "source": f"tensordesc<{dtype}[64,32]>", "output_ptr": f"*{dtype}", "row": "i32",
        "column": "i32"}, _TILE) for dtype in ("fp16", "fp32", "bf16", "i32")),
    Build("store_tile", "store_tile",
          {"x_ptr": "*fp16", "target": "tensordesc<fp16[64,32]>"}, _TILE),
    Build("device_descriptor", "device_descriptor", {
        "x_ptr": "*fp16", "output_ptr": "*fp16", "rows": "i32", "columns": "i32"}, _TILE,
        hints={"x_ptr": ["divisible_by_16"], "columns": ["divisible_by_16"]}),
    _matmul("matmul", 1, 32, 32, 32),
    _matmul("matmul_much_shared", 4, 128, 128, 64),
    _matmul("matmul_too_much_shared", 4, 256, 128, 128),
]  # fmt: skip


class NoCubins(Exception):
    """The cubins are missing or were not copied to this machine."""


def read_build(name: str) -> tuple[bytes, Abi]:
    """Return a cubin and its ABI. Raises NoCubins."""
    try:
        cubin = (FOLDER / f"{name}.cubin").read_bytes()
        return cubin, Abi.from_json(json.loads((FOLDER / f"{name}.json").read_text()))
    except FileNotFoundError as error:
        message = f"{error.filename} is missing; make it with tests/gpu/make_cubins.py"
        raise NoCubins(message) from error
