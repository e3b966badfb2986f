"""The NumPy text of a kernel: its layout, its imports, and refusals."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, all_in, compile_kernel
from tests.integration.compiler.ttir_to_numpy.translated import (
    FLOATS,
    numpy_text,
    of_ir,
    stages_of,
)

POINTERS = ("x_ptr", "y_ptr", "output_ptr")
VECTOR_ADD = KERNELS / "good" / "vector_add.py"


def function(body: str, parameters: str = "%p: !tt.ptr<i32>, %c: i1, %v: i32") -> bytes:
    """Return TTIR of one kernel."""
    return f"module {{ tt.func public @k({parameters}) {{\n{body}\ntt.return\n}} }}".encode()


def test_the_text_reads_like_the_kernel(children: Children) -> None:
    request = {
        "kernel": "add_kernel",
        "signature": dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), FLOATS)
        | {"n_elements": "i32"},
        "constexprs": {"BLOCK_SIZE": 1024},
    }
    source = stages_of(children, VECTOR_ADD, request)["source"]

    text = of_ir(children, source, "source", "add_kernel", VECTOR_ADD).text

    code = [line.split("  # ")[0].rstrip() for line in text.splitlines()]
    start = code.index(
        'def add_kernel(x_ptr: "*fp32", y_ptr: "*fp32", output_ptr: "*fp32", n_elements: "i32"):'
    )
    assert code[start + 1 : start + 7] == [
        "    pid = program_id(0)",
        "    offsets = (pid * 1024) + np.arange(1024, dtype=np.int32)",
        "    mask = offsets < n_elements",
        "    x = load(x_ptr + offsets, mask=mask)",
        "    y = load(y_ptr + offsets, mask=mask)",
        "    store(output_ptr + offsets, x + y, mask=mask)",
    ]
    [line] = [line for line in text.splitlines() if line.startswith("    mask = ")]
    number = 1 + [line.strip() for line in VECTOR_ADD.read_text().splitlines()].index(
        "mask = offsets < n_elements"
    )
    assert line.endswith(f"  # {number}: mask = offsets < n_elements")


def test_helpers_stay_functions_and_loops_stay_loops(children: Children) -> None:
    text = numpy_text(children, "loops", {"x": FLOATS, "n": "i32", "m": "i32"}, B=16).text

    assert "def tl_zeros():" in text
    assert "acc = tl_zeros()" in text
    assert "for i in loop(0, n, 1):" in text
    assert "while True:" in text


def test_a_loops_number_is_called_as_in_the_kernel(children: Children, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("""import triton
import triton.language as tl

@triton.jit
def kernel(x, n):
    total = 0
    for row in range(n):
        for column in range(row):
            total += column
    tl.store(x, total)
""")
    request = {"kernel": "kernel", "signature": {"x": "*i32", "n": "i32"}}

    for stage in ("source", "ttir"):
        ir = stages_of(children, path, request)[stage]
        text = of_ir(children, ir, stage, "kernel", path).text

        assert "for row in loop(0, n, 1):" in text
        assert "for column in loop(0, row, 1):" in text


def test_the_text_runs_where_there_is_nothing_but_numpy(children: Children, tmp_path: Path) -> None:
    text = numpy_text(
        children, "reductions", {"x": FLOATS, "y": FLOATS, "i": "*i32"}, B=16, C=32
    ).text
    use = """
import sys
assert not {"triton", "ml_dtypes", "compiler"} & set(sys.modules)
x, y, i = np.ones((16, 32), np.float32), np.zeros((5, 16, 32), np.float32), np.zeros(64, np.int32)
launch(reductions, (1,), x, y, i)
print(y[4, 0, 0])
"""
    (tmp_path / "kernel.py").write_text(text + use)
    command = [sys.executable, "-W", "error", "kernel.py"]

    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ})

    assert (ran.stdout, ran.stderr) == ("32.0\n", "")


def test_a_kernel_may_be_called_like_what_it_stands_on(children: Children) -> None:
    kernel = numpy_text(children, "load", {"x": FLOATS, "reduce": "fp32"}, B=16)
    x = np.ones(16, np.float32)

    kernel.run((1,), x, 2.0)

    assert list(x) == [51.0] * 16


@pytest.mark.parametrize(
    "kernel",
    slow_except(("matmul", "scan"), all_in("good"), lambda kernel: kernel.path.stem),
    ids=lambda kernel: kernel.path.stem,
)
def test_every_good_kernel_translates_to_numpy(children: Children, kernel) -> None:
    compiled = compile_kernel(children, kernel, stop_after="ttir")
    name = (compiled.reading or {})["kernel"]

    for stage in ("source", "ttir"):
        text = of_ir(children, compiled.stages[stage], stage, name).text
        compile(text, "translated.py", "exec")


def test_an_assertion_says_its_message(children: Children) -> None:
    ir = function('tt.assert %c, "it\'s \\22n\\22 \\0A" : i1')
    kernel = of_ir(children, ir, "ttir", "k")

    kernel.run((1,), np.zeros(1, np.int32), True, 0)
    with pytest.raises(AssertionError, match='it\'s "n" \n'):
        kernel.run((1,), np.zeros(1, np.int32), False, 0)


def test_branches_that_meet_again_are_steps(children: Children) -> None:
    ir = function(
        "%one = arith.constant 1 : i32\n"
        "cf.br ^loop(%v : i32)\n"
        "^loop(%x: i32):\n"
        "%y = arith.addi %x, %x : i32\n"
        "%small = arith.cmpi slt, %y, %limit : i32\n"
        "cf.cond_br %small, ^loop(%y : i32), ^done(%x : i32)\n"
        "^done(%z: i32):\n"
        "tt.store %p, %z : !tt.ptr<i32>",
        "%p: !tt.ptr<i32>, %v: i32, %limit: i32",
    )
    out = np.zeros(1, np.int32)

    of_ir(children, ir, "ttir", "k").run((1,), out, 3, 100)

    assert out[0] == 96


def test_values_of_one_name_in_sibling_regions_are_not_confused(children: Children) -> None:
    ir = function(
        "%r = scf.if %c -> i32 {\n %a = arith.addi %v, %v : i32\n scf.yield %a : i32\n} else {\n"
        " %a = arith.muli %v, %v : i32\n scf.yield %a : i32\n}\n"
        "tt.store %p, %r : !tt.ptr<i32>"
    )
    kernel, out = of_ir(children, ir, "ttir", "k"), np.zeros(1, np.int32)

    results = []
    for condition in (True, False):
        kernel.run((1,), out, condition, 5)
        results.append(int(out[0]))

    assert results == [10, 25]


def test_values_that_change_places_in_a_loop(children: Children) -> None:
    ir = function(
        "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
        "%r:2 = scf.for %i = %zero to %v step %one iter_args(%a = %zero, %b = %one)"
        " -> (i32, i32) : i32 {\n"
        " %s = arith.addi %a, %b : i32\n scf.yield %b, %s : i32, i32\n}\n"
        "tt.store %p, %r#0 : !tt.ptr<i32>"
    )
    out = np.zeros(1, np.int32)

    of_ir(children, ir, "ttir", "k").run((1,), out, True, 10)

    assert out[0] == 55


def test_an_old_value_outlives_the_one_that_follows_it(children: Children) -> None:
    ir = function(
        "%zero = arith.constant 0 : i32\n%one = arith.constant 1 : i32\n"
        "%r = scf.for %i = %zero to %v step %one iter_args(%a = %one) -> (i32) : i32 {\n"
        " %many = tt.splat %a : i32 -> tensor<4xi32>\n"
        " %next = arith.addi %a, %one : i32\n"
        " %at = tt.splat %p : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>\n"
        " tt.store %at, %many : tensor<4x!tt.ptr<i32>>\n"
        " scf.yield %next : i32\n}"
    )
    out = np.zeros(1, np.int32)

    of_ir(children, ir, "ttir", "k").run((1,), out, True, 3)

    assert out[0] == 3


def test_many_blocks_that_meet_again_are_not_nested(children: Children) -> None:
    ir = function(
        "cf.br ^m0\n"
        + "\n".join(
            f"^m{i}:\ncf.cond_br %c, ^l{i}, ^r{i}\n^l{i}:\ncf.br ^m{i + 1}\n^r{i}:\ncf.br ^m{i + 1}"
            for i in range(500)
        )
        + "\n^m500:\ntt.store %p, %v : !tt.ptr<i32>"
    )
    out = np.zeros(1, np.int32)

    of_ir(children, ir, "ttir", "k").run((1,), out, True, 5)

    assert out[0] == 5


def test_names_and_strings_of_the_ir_are_only_names_and_strings(children: Children) -> None:
    evil = "x\\22)\\0Aimport os\\0A#"
    ir = (
        f'module {{ tt.func private @"a.b;import os"(%x: i32) -> i32 {{ tt.return %x : i32 }}\n'
        f'tt.func public @"k"(%p: !tt.ptr<i32> loc("import"), %v: i32 loc("np")) {{\n'
        f'%r = tt.call @"a.b;import os"(%v) : (i32) -> i32 loc("{evil}":3:1)\n'
        f'tt.print "{evil}" {{hex = false, isSigned = array<i32: 1>}} : %r : i32 loc("{evil}")\n'
        "tt.store %p, %r : !tt.ptr<i32>\ntt.return\n} }"
    )
    out = np.zeros(1, np.int32)

    kernel = of_ir(children, ir.encode(), "ttir", "k")
    kernel.run((1,), out, 4)

    assert out[0] == 4
    assert not [line for line in kernel.text.splitlines() if line.startswith("import os")]


def test_the_first_axis_of_the_grid_runs_fastest(children: Children) -> None:
    ir = function(
        "%x = tt.get_program_id x : i32\n%y = tt.get_program_id y : i32\n"
        "%ten = arith.constant 10 : i32\n%z = arith.muli %y, %ten : i32\n"
        "%n = arith.addi %x, %z : i32\n%old = tt.load %p : !tt.ptr<i32>\n"
        "%t = arith.muli %old, %ten : i32\n%u = arith.addi %t, %n : i32\n"
        "tt.store %p, %u : !tt.ptr<i32>"
    )
    out = np.zeros(1, np.int32)

    of_ir(children, ir, "ttir", "k").run((2, 2), out, True, 0)

    assert out[0] == 0 * 1000 + 1 * 100 + 10 * 10 + 11
