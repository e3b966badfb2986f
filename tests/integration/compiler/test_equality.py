"""Every stage equals the output of `triton.compile` in a separate process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, Kernel, compile_kernel, read
from tests.integration.compiler.triton_compile import TritonCompile

TEXT_STAGES = ("source", "ttir", "ttgir", "llir", "ptx")
NAMES = ("vector_add", "fused_softmax", "matmul", "loops", "scan", "helpers", "constexpr_globals")
CASES = [(name, arch) for name in NAMES for arch in (80, 90)]
CASES += [("matmul", 86), ("matmul", 100)]  # which is lowered differently for each


QUICK = [("vector_add", 80), ("helpers", 90)]


@pytest.mark.parametrize(("name", "arch"), slow_except(QUICK, CASES))
def test_stages_equal_those_of_triton_compile(
    children: Children, directly: TritonCompile, tmp_path: Path, name: str, arch: int
) -> None:
    kernel = read(KERNELS / "good" / f"{name}.py")

    made = compile_kernel(children, kernel, arch)
    expected = compile_directly(directly, kernel, made.reading, arch, tmp_path)

    assert made.failure is None
    for stage in TEXT_STAGES:
        assert made.stages[stage].decode() == expected[stage].decode(), stage
    assert made.stages["cubin"] == expected["cubin"]


def compile_directly(
    directly: TritonCompile,
    kernel: Kernel,
    reading: dict[str, Any] | None,
    arch: int,
    tmp_path: Path,
) -> dict[str, bytes]:
    assert reading is not None
    request = {
        "source": kernel.text,
        "kernel": reading["kernel"],
        "signature": kernel.request["signature"],
        "constexprs": defaults(reading) | kernel.request.get("constexprs", {}),
        "hints": kernel.request.get("hints", {}),
        "options": {"enable_fp_fusion": True},
        "target": ["cuda", arch, 32],
    }
    return directly.stages(request, tmp_path)


def defaults(reading: dict[str, Any]) -> dict[str, Any]:
    """Return the literal defaults of the chosen kernel, as plain values."""
    (kernel,) = (k for k in reading["facts"]["kernels"] if k["name"] == reading["kernel"])
    literals = {p["name"]: p["default"]["literal"] for p in kernel["parameters"] if p["default"]}
    return {n: int(v["int"]) if isinstance(v, dict) else v for n, v in literals.items()}
