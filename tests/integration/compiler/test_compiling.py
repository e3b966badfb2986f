"""Slice, front and back together, on typical kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import (
    KERNELS,
    Compiled,
    Kernel,
    all_in,
    compile_kernel,
    read,
)

HEAD = "import triton\nimport triton.language as tl\n\n"


def compile_text(
    children: Children, text: str, stop_after: str = "ttir", **request: Any
) -> Compiled:
    return compile_kernel(children, Kernel(Path("text.py"), text, request), stop_after=stop_after)


QUICK = ("vector_add", "matmul", "scan")


@pytest.mark.parametrize(
    "kernel",
    slow_except(QUICK, all_in("good"), lambda kernel: kernel.path.stem),
    ids=lambda kernel: kernel.path.stem,
)
def test_a_good_kernel_becomes_a_cubin(children: Children, kernel: Kernel) -> None:
    compiled = compile_kernel(children, kernel)

    assert compiled.failure is None
    assert compiled.stages["cubin"].startswith(b"\x7fELF")
    assert compiled.back is not None
    assert compiled.back["resources"]["registers"] > 0
    assert set(compiled.back["timings_ms"]) == {"parse", "ttgir", "llir", "ptx", "cubin"}


P2, P3 = ["x_ptr", "z_ptr"], ["x_ptr", "y_ptr", "z_ptr"]
EXERCISES: dict[str, tuple[list[str], list[str], dict[str, int]]] = {
    "add_ten": (P2, ["N0"], {"B0": 32}),
    "add_ten_in_blocks": (P2, ["N0"], {"B0": 32}),
    "outer_sum": (P3, ["N0", "N1"], {"B0": 32, "B1": 32}),
    "outer_sum_in_blocks": (P3, ["N0", "N1"], {"B0": 32, "B1": 32}),
    "outer_product_relu": (P3, ["N0", "N1"], {"B0": 32, "B1": 32}),
    "product_relu_gradient": (
        ["x_ptr", "y_ptr", "dz_ptr", "dx_ptr"],
        ["N0", "N1"],
        {"B0": 32, "B1": 32},
    ),
    "convolution": (
        ["x_ptr", "k_ptr", "z_ptr"],
        ["N0", "N1", "H", "W"],
        {"KH": 4, "KW": 4, "B0": 1, "B1": 32},
    ),
}


@pytest.mark.parametrize("name", slow_except(["add_ten", "convolution"], EXERCISES))
def test_an_exercise_becomes_ptx(children: Children, name: str) -> None:
    pointers, sizes, constexprs = EXERCISES[name]
    signature = dict.fromkeys(pointers, "*fp32") | dict.fromkeys(sizes, "i32")
    text = (KERNELS / "launch" / "puzzles.py").read_text()

    compiled = compile_text(
        children, text, "ptx", kernel=name, signature=signature, constexprs=constexprs
    )

    assert compiled.failure is None
    assert f".entry {name}(" in compiled.stages["ptx"].decode()


def test_a_whole_script_is_compiled_without_torch(children: Children) -> None:
    compiled = compile_kernel(
        children, read(KERNELS / "good" / "whole_script.py"), stop_after="ttir"
    )

    assert compiled.front is not None
    assert compiled.front["notes"] == []


def test_lines_are_those_of_the_posted_source(children: Children) -> None:
    kernel = read(KERNELS / "good" / "whole_script.py")

    compiled = compile_kernel(children, kernel, stop_after="ptx")

    line = 1 + kernel.text.split("\n").index("    tl.store(output_ptr + offsets, x + y, mask=mask)")
    ptx = compiled.stages["ptx"].decode()
    assert '.file\t1 "/kernel/user.py"' in ptx or '.file\t1 "/kernel" "user.py"' in ptx
    assert f".loc\t1 {line} " in ptx


def test_no_stage_shows_where_triton_is_installed(children: Children) -> None:
    compiled = compile_kernel(children, read(KERNELS / "good" / "fused_softmax.py"))

    for stage, data in compiled.stages.items():
        assert b"site-packages" not in data, stage


def test_defaults_that_were_filled_in_are_reported(children: Children) -> None:
    compiled = compile_kernel(
        children, read(KERNELS / "good" / "constexpr_globals.py"), stop_after="ttir"
    )

    assert compiled.front is not None
    assert compiled.front["constexprs"] == {"OTHER": {"int": "3"}, "NAME": "plus"}


def test_stop_after_is_honoured(children: Children) -> None:
    kernel = read(KERNELS / "good" / "vector_add.py")

    assert list(compile_kernel(children, kernel, stop_after="source").stages) == ["source"]
    assert list(compile_kernel(children, kernel, stop_after="llir").stages)[-1] == "llir"


def test_further_files_are_imported_by_path(children: Children) -> None:
    text = HEAD + (
        "from pkg.scaling import scale\nfrom .local import OFFSET\n\n"
        "@triton.jit\ndef k(x):\n    tl.store(x, scale(tl.load(x)) + OFFSET)\n"
    )
    files = {
        "pkg/scaling.py": HEAD + "import torch\n\n@triton.jit\ndef scale(x):\n    return x * 3\n",
        "local.py": HEAD + "OFFSET = tl.constexpr(1.0)\n",
        "unused.py": "syntax error",
    }

    compiled = compile_text(children, text, signature={"x": "*fp32"}, files=files)

    assert compiled.failure is None
    assert b"/kernel/pkg/scaling.py" in compiled.stages["source"]


@pytest.mark.parametrize(
    "made",
    [
        "def f(x):\n    tl.store(x, 1.0)\n\nk = triton.jit(f)\n",
        "def make():\n    @triton.jit\n    def f(x):\n        tl.store(x, 1.0)\n    return f\n\n"
        "k = make()\n",
        "@triton.jit\ndef f(x):\n    tl.store(x, 1.0)\n\nglobals()['k'] = f\n",
    ],
    ids=["by call", "in a factory", "through globals"],
)
def test_kernels_made_at_run_time_are_found(children: Children, made: str) -> None:
    compiled = compile_text(children, HEAD + made, kernel="k", signature={"x": "*fp32"})

    assert compiled.failure is None
    assert b"tt.store" in compiled.stages["ttir"]


def test_a_kernel_that_only_running_the_source_binds_is_found(children: Children) -> None:
    text = (
        HEAD
        + "import nowhere\n\n@triton.jit\ndef f(x):\n    tl.store(x, 1.0)\n\nglobals()['k'] = f\n"
    )

    compiled = compile_text(children, text, kernel="k", signature={"x": "*fp32"})

    assert compiled.front is not None
    assert compiled.front["kernel"] == "f"


def test_gluon_kernels_compile(children: Children) -> None:
    text = (
        "from triton.experimental import gluon\n"
        "from triton.experimental.gluon import language as gl\n\n"
        "@gluon.jit\ndef k(x, n):\n"
        "    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])\n"
        "    offsets = gl.arange(0, 128, layout=layout)\n"
        "    gl.store(x + offsets, gl.load(x + offsets) + 1.0, mask=offsets < n)\n"
    )

    compiled = compile_text(children, text, "cubin", signature={"x": "*fp32", "n": "i32"})

    assert compiled.failure is None
    assert list(compiled.stages) == ["source", "ttgir", "llir", "ptx", "cubin"]


def test_tagged_constexprs_reach_the_kernel(children: Children) -> None:
    text = HEAD + (
        "@triton.jit\ndef relu(x):\n    return tl.maximum(x, 0.0)\n\n"
        "@triton.jit\ndef k(x, F: tl.constexpr, T: tl.constexpr, S: tl.constexpr):\n"
        "    v = F(tl.load(x).to(T)) * S[1]\n    tl.store(x, v.to(tl.float16))\n"
    )
    constexprs = {
        "F": {"function": "relu"},
        "T": {"dtype": "fp32"},
        "S": {"tuple": [{"int": "1"}, {"float": "0x1.8p+1"}]},
    }

    compiled = compile_text(
        children,
        text,
        signature={"x": "*fp16"},
        constexprs=constexprs,
        functions=["relu"],
    )

    assert compiled.failure is None
    assert b"3.000000e+00" in compiled.stages["ttir"]


def test_what_user_code_prints_goes_to_stdout(children: Children) -> None:
    text = HEAD + "@triton.jit\ndef k(x, N: tl.constexpr):\n    tl.static_print('N is', N)\n"
    header = {
        "task": "front", "kernel": "k", "files": {}, "signature": {"x": "*fp32"},
        "constexprs": {"N": {"int": "7"}}, "hints": {}, "options": {"enable_fp_fusion": True},
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "stop_after": "ttir",
    }  # fmt: skip

    ended = children.run(header, text.encode())

    assert ended.stdout == "N is 7\n"


def test_a_missing_constexpr_is_named(children: Children) -> None:
    compiled = compile_text(children, HEAD + "@triton.jit\ndef k(x, N: tl.constexpr):\n    pass\n",
                            signature={"x": "*fp32"})  # fmt: skip

    assert compiled.failure is not None
    assert compiled.failure["slug"] == "missing_constexpr"
    assert "'N'" in compiled.failure["message"]


def test_ir_is_bounded_before_the_back_end(children: Children) -> None:
    header = {
        "task": "back", "locations": None, "options": {"enable_fp_fusion": True},
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "stop_after": "cubin",
    }  # fmt: skip

    ended = children.run(header, b"module { %0 = foo : tensor<65536x65536xf32> }")

    assert ended.last is not None
    assert ended.last["slug"] == "out_of_resources"
    assert "4,294,967,296 elements" in ended.last["message"]


def test_a_toolchain_describes_itself(children: Children) -> None:
    facts = children.run({"task": "describe"}, b"").result

    assert facts["triton"].startswith("3.")
    assert len(facts["record_digest"]) == 64
    assert facts["options"]["cuda"]["enable_fp_fusion"]["default"] is True
    for unsafe in ("ptx_options", "ir_override", "extern_libs", "arch"):
        assert unsafe not in facts["options"]["cuda"]
