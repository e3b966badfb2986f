"""Findings of an explanation in PTX, AMD assembly and TTGIR, as recorded from Triton 3.9."""

from __future__ import annotations

import pytest

from compiler.explain.explanation import (
    FMA,
    MMA,
    WGMMA,
    conversions,
    matrix_products,
    narrow_accesses,
    tma_use,
)
from compiler.explain.stage_lines import places_of

HERE = {1: ("user.py", 7)}
LAYOUTS = """\
#blocked = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [4, 8], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, instrShape = [16, 8]}>
"""
A = "tensor<{}xf16, #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>>"
B = "tensor<{}xf16, #ttg.dot_op<{{opIdx = 1, parent = #mma, kWidth = 2}}>>"


def dot(a: str, b: str, result: str) -> str:
    shapes = f"{A.format(a)} * {B.format(b)} -> tensor<{result}xf32, #mma>"
    return f"{LAYOUTS}  %d = tt.dot %a, %b, %c, inputPrecision = tf32 : {shapes} loc(#loc1)\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("\tld.global.b32 { %r1 }, [ %rd1 + 0 ];", "1 load of 4 bytes"),
        ("\t@%p1 ld.global.L1::evict_last.b16 { %rs1 }, [ %rd1 + 0 ];", "1 load of 2 bytes"),
        ("\tst.global.b8 [ %rd3 + 0 ], { %r7 };", "1 store of 1 byte"),
        (
            "\tcp.async.ca.shared.global [ %r57 + 0 ], [ %rd107 + 0 ], 0x4, %r58;",
            "1 copy of 4 bytes",
        ),
    ],
)
def test_an_access_for_one_element_is_not_vectorised(line: str, said: str):
    [access] = narrow_accesses(line, "ptx", HERE)

    assert (access.place, str(access)) == (("user.py", 7), said)


@pytest.mark.parametrize(
    "line",
    [
        "\tld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];",
        "\t@%p1 st.global.v2.b32 [ %rd3 + 0 ], { %r7, %r8 };",
        "\tld.global.b64 { %rd1 }, [ %rd2 + 0 ];",
        "\tld.param.b32 %r1, [kernel_param_0];",
        "\tst.shared.b32 [ %r1 + 0 ], %r2;",
        "\tcp.async.cg.shared.global [ %r57 + 0 ], [ %rd107 + 0 ], 0x10;",
    ],
)
def test_wide_and_other_accesses_are_not_reported(line: str):
    assert narrow_accesses(line, "ptx", HERE) == []


def test_amd_loads_of_a_dword_are_narrow_those_of_four_are_not():
    text = "\tglobal_load_dwordx4 v[0:3], v4, s[0:1]\n\tbuffer_load_dword v1, v2, s[0:3], 0 offen\n"

    [access] = narrow_accesses(text, "amdgcn", {2: ("user.py", 9)})
    assert (access.place, str(access)) == (("user.py", 9), "1 load of 4 bytes")


def test_conversions_of_a_line_are_counted_and_the_largest_is_shown():
    text = (
        "  %7 = ttg.convert_layout %i : tensor<128xi32, #blocked2> -> "
        "tensor<128xi32, #ttg.slice<{dim = 0, parent = #blocked3}>> loc(#loc85)\n"
        "  %8 = ttg.convert_layout %7 : tensor<128x64xf16, #mma> -> tensor<128x64xf16, #blocked>\n"
    )

    [found] = conversions(text, dict.fromkeys((1, 2), ("user.py", 64)))
    assert (found.count, found.largest) == (2, "128x64xf16 #mma -> #blocked")


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
):
    [product] = matrix_products(dot(*shapes), {}, "cuda:90", num_warps)

    assert (product.unit, product.reason) == (MMA, reason)


def test_tcgen05_has_a_condition_of_its_own():
    [product] = matrix_products(dot("64x64", "64x64", "64x64"), {}, "cuda:100", 16)

    assert product.reason == "Triton uses tcgen05.mma with 4 or 8 warps, not 16"


def test_a_target_without_wgmma_misses_nothing():
    [product] = matrix_products(dot("32x64", "64x64", "32x64"), {}, "cuda:80", 4)

    assert product.reason is None


def test_wgmma_is_known_by_its_operation():
    text = (
        "%9 = ttng.warp_group_dot %a, %b, %c {inputPrecision = 0 : i32} : "
        "!ttg.memdesc<128x64xf32, #shared, #smem> * !ttg.memdesc<64x256xf32, #shared1, #smem> "
        "-> tensor<128x256xf32, #mma> loc(#loc1)"
    )

    [product] = matrix_products(text, {1: ("user.py", 58)}, "cuda:90", 4)
    assert (product.unit, product.shape, product.place) == (
        WGMMA,
        "128x256x64 f32",
        ("user.py", 58),
    )


@pytest.mark.parametrize(("target", "has_tf32"), [("cuda:90", True), ("cuda:75", False)])
def test_fp32_without_tf32_uses_no_tensor_cores(target: str, has_tf32: bool):
    operands = (f"tensor<32x32xf32, #ttg.dot_op<{{opIdx = {i}, parent = #blocked}}>>" for i in "01")
    text = (
        f"{LAYOUTS}%d = tt.dot %a, %b, %c : {' * '.join(operands)} -> tensor<32x32xf32, #blocked>"
    )

    [product] = matrix_products(text, {}, target, 1)
    assert product.unit == FMA
    assert (product.reason is not None) == has_tf32


@pytest.mark.parametrize(
    ("text", "target", "copies", "reason"),
    [
        ("ttng.async_tma_copy_global_to_local %d", "cuda:90", 1, None),
        ("%0 = tt.load %p", "cuda:90", 0, "the kernel has no tensor descriptor"),
        ("%0 = tt.load %p", "cuda:80", 0, "cuda:80 has none"),
        ("%d = tt.make_tensor_descriptor %p", "cuda:90", 0, None),
        ("%0 = tt.load %p", "hip:gfx942", 0, None),
    ],
)
def test_tma_is_counted_or_its_absence_explained(
    text: str, target: str, copies: int, reason: str | None
):
    use = tma_use(text, target)

    assert (use.copies, use.reason) == (copies, reason)


def test_a_stage_line_has_its_first_source_line():
    rows = [
        {"file": "user.py", "line": 7, "ptx": [3, 4]},
        {"file": None, "line": None, "ptx": [5]},
        {"file": "user.py", "line": 9, "ptx": [4]},
    ]

    assert places_of({"lines": rows}, "ptx") == {3: ("user.py", 7), 4: ("user.py", 7)}
