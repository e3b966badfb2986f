"""Products are fused with sums exactly where the kernel's PTX fuses them."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel, module_text
from compiler.ttir_to_numpy.task import generic_form
from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel
from tests.integration.launch.cpu.forms import TARGET, Forms, compiled
from tests.unit.compiler.ttir_to_numpy.test_fused import rounded

LANES = 128  # one per thread, so that PTX has each operation once
HEAD = """
import triton
import triton.language as tl

@triton.jit
def k(x, y, z, out, n):
    i = tl.arange(0, 128)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
"""
FUSED = {
    "a sum": ["r = a * b + c"],
    "its other side": ["r = c + a * b"],
    "a difference": ["r = a * b - c"],
    "its other side, too": ["r = c - a * b"],
    "a negated product": ["r = -(a * b) + c"],
    "two products": ["r = a * b + b * c"],
    "a product that is stored, too": ["p = a * b", "tl.store(out + 256 + i, p)", "r = p + c"],
    "a product of two sums": ["p = a * b", "r = (p + c) * (p - a)"],
    "a chain": ["r = ((a * 0.5 + b) * a + 2.5) * a + c"],
    "a number for all": ["s = tl.load(x) * tl.load(y)", "r = s + c"],
    "a product that changes in a loop": [
        "r = c", "for j in range(n):", "    r = r + tl.load(x + j * 128 + i) * b",
    ],
    "a product that a loop does not change": [
        "r = c", "for j in range(n):", "    r = r + a * b",
    ],
    "the same behind a condition": [
        "r = c", "for j in range(n):", "    if j > 3:", "        r = r + a * b",
    ],
    "a sum that a loop does not change": [
        "r = c", "for j in range(n):", "    r = r + (a * b + c)",
    ],
    "a short condition": ["p = a * b", "r = c", "if n > 3:", "    r = p + c"],
    "a condition that loads": [
        "p = a * b", "r = c", "if n > 3:", "    r = p + tl.load(x + n + i)",
    ],
    "a product of one side": ["p = a", "if n > 3:", "    p = a * b", "r = p + c"],
    "a loop in between": [
        "p = a * b", "s = c", "for j in range(n):", "    s = s * tl.load(x + j * 128 + i)",
        "r = p + s",
    ],
    "a loop in between, and the product stored": [
        "p = a * b", "tl.store(out + 256 + i, p)", "s = c", "for j in range(n):",
        "    s = s * tl.load(x + j * 128 + i)", "r = p + s",
    ],
    "an early return": ["p = a * b", "if n > 5:", "    return", "r = p + c"],
    "a product that is chosen": ["r = tl.where(c > 0, a * b, 0.0) + c"],
    "a product behind its size": ["r = tl.abs(a * b) + c"],
    "a sum that is chosen": ["r = tl.where(a > 0, a * b + c, c)"],
    "an atomic product": ["r = tl.atomic_add(out + i, a * b) + c"],
    "a quotient by a number": ["r = a / 3.0 + c"],
    "a quotient": ["r = a / b + c"],
}  # fmt: skip


def kernel(lines: list[str], dtype: str, **options: Any) -> Kernel:
    text = HEAD + "".join(f"    {line}\n" for line in [*lines, "tl.store(out + i, r)"])
    signature = dict.fromkeys(("x", "y", "z", "out"), f"*{dtype}") | {"n": "i32"}
    return Kernel(Path("user.py"), text, {"signature": signature, "options": options})


def fused_in_text(text: str) -> int:
    return text.split("# Helpers of every kernel", maxsplit=1)[0].count("fused(")


QUICK = (
    "a sum",
    "two products",
    "a chain",
    "a product that a loop does not change",
    "an early return",
)


@pytest.mark.parametrize("what", slow_except(QUICK, FUSED))
def test_as_many_are_fused_as_in_ptx(children: Children, what: str) -> None:
    made = compile_kernel(children, kernel(FUSED[what], "fp32"), stop_after="ptx")
    assert made.failure is None, made.failure
    generic, symbol = generic_form(made.stages["source"].decode(), TARGET, "source")
    text = module_text(module_of(generic), TranslatedKernel(symbol, "source", ()), {})

    in_ptx = len(re.findall(r"\bfma\.rn\.f32\b", made.stages["ptx"].decode()))
    assert fused_in_text(text) == in_ptx


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp64"])
def test_other_floats_are_fused_as_well(children: Children, dtype: str) -> None:
    made = compile_kernel(children, kernel(FUSED["two products"], dtype), stop_after="ptx")
    for forms in compiled(children, kernel(FUSED["two products"], dtype)):
        assert fused_in_text(forms.artifact) == made.stages["ptx"].count(b"fma.rn") == 1


def test_nothing_is_fused_where_that_is_switched_off_or_for_another_maker(
    children: Children,
) -> None:
    source = kernel(FUSED["a sum"], "fp32", enable_fp_fusion=False)
    made = compile_kernel(children, source, stop_after="ptx")
    assert b"fma" not in made.stages["ptx"]
    generic, symbol = generic_form(made.stages["source"].decode(), TARGET, "source")
    for is_cuda, fp_fusion in ((True, False), (False, True)):
        translated = TranslatedKernel(symbol, "source", (), is_cuda, fp_fusion)
        assert fused_in_text(module_text(module_of(generic), translated, {})) == 0


def ran(forms: Forms, dtype: Any, a: Any, b: Any, c: Any) -> list[Any]:
    """Return what both forms store."""
    found = []
    for run in (forms.one_by_one, forms.gather_limited):
        out = np.zeros(3 * LANES, dtype)
        run((1, 1, 1), [a, b, c, out, 1])
        found.append(out[:LANES])
    return found


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize(
    ("what", "exact"),
    [
        ("a sum", lambda a, b, c: a * b + c),
        ("a difference", lambda a, b, c: a * b - c),
        ("its other side, too", lambda a, b, c: c - a * b),
        ("a negated product", lambda a, b, c: c - a * b),
    ],
)
def test_both_forms_round_once(children: Children, dtype: Any, what: str, exact: Any) -> None:
    name = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}[np.dtype(dtype).name]
    a, b, c = np.random.default_rng(8).standard_normal((3, LANES)).astype(dtype)
    given = [[Fraction(float(number)) for number in values] for values in (a, b, c)]
    wanted = [rounded(exact(*numbers), dtype) for numbers in zip(*given, strict=True)]

    for forms in compiled(children, kernel(FUSED[what], name)):
        for found in ran(forms, dtype, a, b, c):
            assert found.astype(float).tolist() == wanted


def test_of_two_products_the_one_that_nothing_else_needs_is_fused(children: Children) -> None:
    lines = ["p, q = a * b, b * c", "tl.store(out + 128 + i, p)", "r = p - q"]
    a, b, c = np.random.default_rng(9).standard_normal((3, LANES)).astype(np.float32)
    kept = (a * b).astype(np.float64) - b.astype(np.float64) * c.astype(np.float64)

    for forms in compiled(children, kernel(lines, "fp32")):
        for found in ran(forms, np.float32, a, b, c):
            np.testing.assert_array_equal(found, kept.astype(np.float32))


def test_a_quotient_by_a_number_is_a_product(children: Children) -> None:
    a = np.random.default_rng(10).standard_normal(LANES).astype(np.float32)
    for forms in compiled(children, kernel(["r = a / 127.0"], "fp32")):
        for found in ran(forms, np.float32, a, a, a):
            np.testing.assert_array_equal(found, a * (np.float32(1) / np.float32(127)))
