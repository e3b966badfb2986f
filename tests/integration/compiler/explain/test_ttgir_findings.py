"""Findings of an explanation in TTGIR, as Triton 3.9 prints it."""

from __future__ import annotations

import pytest

from compiler.explain.explanation import (
    FMA,
    MMA,
    WGMMA,
    conversions,
    matrix_products,
    tma_use,
)
from compiler.explain.ttgir import TtgirModule, read_ttgir

HERE = 'loc("/kernel/user.py":64:5)'
LAYOUTS = """\
#blocked = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [4, 8], warpsPerCTA = [WARPS, 1],\
 order = [1, 0]}>
#deep = #ttg.blocked<{sizePerThread = [1, 4, 4], threadsPerWarp = [1, 4, 8], \
warpsPerCTA = [1, WARPS, 1], order = [2, 1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [WARPS], \
order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [WARPS, 1], \
instrShape = [16, 8]}>
#mma3 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, WARPS, 1], \
instrShape = [1, 16, 8]}>
#wgmma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [WARPS, 1], \
instrShape = [16, 256, 8]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#smem = #ttg.shared_memory
"""


def module(
    *lines: str, arguments: str = "", target: str = "cuda:90", warps: int = 4
) -> TtgirModule:
    """Return the module of a kernel of these lines."""
    body = "\n".join(f"    {line}" for line in lines)
    text = (
        f'{LAYOUTS}module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = WARPS : i32, '
        f'"ttg.threads-per-warp" = 32 : i32, ttg.target = "{target}"}} {{\n'
        f"  tt.func public @k({arguments}) {{\n{body}\n    tt.return\n  }}\n}}\n"
    )
    return read_ttgir(text.replace("WARPS", str(warps)), target)


def dot(a: str, b: str, result: str, mma: str = "#mma", kind: str = "f16") -> list[str]:
    """Return the lines of a product of these shapes."""
    width = ", kWidth = 2" if "mma" in mma else ""
    types = [
        f"tensor<{shape}x{kind}, #ttg.dot_op<{{opIdx = {index}, parent = {mma}{width}}}>>"
        for index, shape in enumerate((a, b))
    ]
    whole = f"tensor<{result}xf32, {mma}>"
    return [
        f"%a = arith.constant dense<0.0> : {types[0]}",
        f"%b = arith.constant dense<0.0> : {types[1]}",
        f"%c = arith.constant dense<0.0> : {whole}",
        f"%d = tt.dot %a, %b, %c{', inputPrecision = tf32' if kind == 'f16' else ''} : "
        f"{' * '.join(types)} -> {whole} {HERE}",
    ]


def test_conversions_of_a_line_are_counted_and_the_largest_is_shown() -> None:
    sliced = "#ttg.slice<{dim = 0, parent = #blocked}>"
    found = conversions(
        module(
            "%i = arith.constant dense<0> : tensor<128xi32, #line>",
            "%7 = ttg.convert_layout %i : tensor<128xi32, #line> -> "
            f"tensor<128xi32, {sliced}> {HERE}",
            "%8 = arith.constant dense<0.0> : tensor<128x64xf16, #mma>",
            "%9 = ttg.convert_layout %8 : tensor<128x64xf16, #mma> -> tensor<128x64xf16, #blocked> "
            + HERE,
        )
    )

    assert [(one.place, one.count, one.largest) for one in found] == [
        (("user.py", 64), 2, "128x64xf16 #mma -> #blocked")
    ]


@pytest.mark.parametrize(
    ("shapes", "num_warps", "reason"),
    [
        (("32x64", "64x64", "32x64"), 4, "wgmma needs M in 64s, not 32"),
        (("64x64", "64x64", "64x64"), 2, "wgmma needs num_warps in fours, not 2"),
        (("64x64", "64x4", "64x4"), 4, "wgmma needs N in eights, not 4"),
        (("2x64x64", "2x64x64", "2x64x64"), 4, "wgmma has no batches"),
        (("64x64", "64x64", "64x64"), 4, None),
    ],
)
def test_a_missed_wgmma_has_the_condition_that_is_not_met(
    shapes: tuple[str, str, str], num_warps: int, reason: str | None
) -> None:
    mma = "#mma3" if shapes[0].count("x") > 1 else "#mma"
    kernel = module(*dot(*shapes, mma=mma), warps=num_warps)
    [product] = matrix_products(kernel, "cuda:90", num_warps)

    assert (product.unit, product.reason) == (MMA, reason)


def test_tcgen05_has_a_condition_of_its_own() -> None:
    kernel = module(*dot("64x64", "64x64", "64x64"), target="cuda:100", warps=16)
    [product] = matrix_products(kernel, "cuda:100", 16)

    assert product.reason == "Triton uses tcgen05.mma with 4 or 8 warps, not 16"


def test_a_target_without_wgmma_misses_nothing() -> None:
    kernel = module(*dot("32x64", "64x64", "32x64"), target="cuda:80")
    [product] = matrix_products(kernel, "cuda:80", 4)

    assert product.reason is None


def test_wgmma_is_known_by_its_operation() -> None:
    memory = "!ttg.memdesc<{}xf32, #shared, #smem, mutable>"
    a, b = memory.format("128x64"), memory.format("64x256")
    kernel = module(
        f"%a = ttg.local_alloc : () -> {a}",
        f"%b = ttg.local_alloc : () -> {b}",
        "%c = arith.constant dense<0.0> : tensor<128x256xf32, #wgmma>",
        "%9 = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32} : "
        f"{a} * {b} -> tensor<128x256xf32, #wgmma> {HERE}",
    )

    [product] = matrix_products(kernel, "cuda:90", 4)
    assert (product.unit, product.shape, product.place) == (
        WGMMA,
        "128x256x64 f32",
        ("user.py", 64),
    )


@pytest.mark.parametrize(("target", "has_tf32"), [("cuda:90", True), ("cuda:75", False)])
def test_fp32_without_tf32_uses_no_tensor_cores(target: str, has_tf32: bool) -> None:
    kernel = module(*dot("32x32", "32x32", "32x32", "#blocked", "f32"), target=target, warps=1)

    [product] = matrix_products(kernel, target, 1)
    assert product.unit == FMA
    assert (product.reason is not None) == has_tf32


def test_a_scaled_product_has_the_shape_of_its_operands_not_of_a_scale() -> None:
    """`tt.dot_scaled %a scale %s, %b, %c ... : tensor<...>, tensor<...> * tensor<...> -> ...`."""
    a, b = (
        f"tensor<64x64xf8E5M2, #ttg.dot_op<{{opIdx = {index}, parent = #blocked}}>>"
        for index in "01"
    )
    kernel = module(
        f"%a = arith.constant dense<0.0> : {a}",
        f"%b = arith.constant dense<0.0> : {b}",
        "%s = arith.constant dense<0> : tensor<64x2xi8, #blocked>",
        "%c = arith.constant dense<0.0> : tensor<64x64xf32, #blocked>",
        "%d = tt.dot_scaled %a scale %s, %b, %c lhs = e5m2 rhs = e5m2 {fastMath = false} : "
        f"{a}, tensor<64x2xi8, #blocked> * {b} -> tensor<64x64xf32, #blocked> {HERE}",
    )

    [product] = matrix_products(kernel, "cuda:90", 4)
    assert product.shape == "64x64x64 f8E5M2"


DESCRIPTOR = "!tt.tensordesc<128x64xf32, #shared>"
COPY = [
    "%x = arith.constant 0 : i32",
    "%on = arith.constant true",
    "%m = ttg.local_alloc : () -> !ttg.memdesc<128x64xf32, #shared, #smem, mutable>",
    "ttng.async_tma_copy_local_to_global %d[%x, %x] %m : "
    + DESCRIPTOR
    + ", !ttg.memdesc<128x64xf32, #shared, #smem, mutable>",
    "ttng.async_tma_store_wait {pendings = 0 : i32}",
]


@pytest.mark.parametrize(
    ("lines", "arguments", "target", "copies", "reason"),
    [
        (COPY, f"%d: {DESCRIPTOR}", "cuda:90", 1, None),
        ([], "", "cuda:90", 0, "the kernel has no tensor descriptor"),
        ([], "", "cuda:80", 0, "cuda:80 has none"),
        ([], f"%d: {DESCRIPTOR}", "cuda:90", 0, None),
        ([], "", "hip:gfx942", 0, None),
    ],
)
def test_tma_is_counted_or_its_absence_explained(
    lines: list[str], arguments: str, target: str, copies: int, reason: str | None
) -> None:
    use = tma_use(module(*lines, arguments=arguments, target=target), target)

    assert (use.copies, use.reason) == (copies, reason)


def test_without_ttgir_nothing_is_known_of_descriptors() -> None:
    assert tma_use(None, "cuda:90").reason is None
