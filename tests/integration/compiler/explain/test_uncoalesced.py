"""Accesses whose lanes are far apart, in TTGIR as Triton 3.9 prints it."""

from __future__ import annotations

import pytest

from compiler.explain.ttgir import read_ttgir
from compiler.explain.uncoalesced import uncoalesced

END = """\
    tt.return
  }
}
#loc1 = loc("/kernel/user.py":7:5)
#loc2 = loc("/kernel/user.py":9:5)
"""
HEAD = """\
#loc = loc(unknown)
#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), \
%n: i32 loc("n"(#loc)), %stride: i32 {tt.divisibility = 16 : i32} loc("stride"(#loc))) \
attributes {noinline = false} {
    %c16 = arith.constant dense<16> : tensor<256xi32, #b> loc(#loc1)
    %s = tt.splat %stride : i32 -> tensor<256xi32, #b> loc(#loc1)
    %m = tt.splat %n : i32 -> tensor<256xi32, #b> loc(#loc1)
    %o = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32, #b> loc(#loc1)
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #b> loc(#loc1)
    %e = tt.load %p : tensor<256x!tt.ptr<f32>, #b> loc(#loc1)
    %d = arith.fptosi %e : tensor<256xf32, #b> to tensor<256xi32, #b> loc(#loc1)
"""
POINTERS = "tensor<256x!tt.ptr<f32>, #b>"
LOAD = f"    %v = tt.load %q : {POINTERS} loc(#loc2)\n"


def at(index: str) -> str:
    """Return a kernel that loads at an index."""
    add = f"    %q = tt.addptr %p, %i : {POINTERS}, tensor<256xi32, #b> loc(#loc1)\n"
    return f"{HEAD}    %i = {index} : tensor<256xi32, #b> loc(#loc1)\n{add}{LOAD}"


def said(body: str, target: str = "cuda:90") -> list[str]:
    return [str(one) for one in uncoalesced(read_ttgir(body + END, target), target)]


def test_lanes_that_are_a_constant_apart_touch_a_sector_each() -> None:
    assert said(at("arith.muli %o, %c16")) == [
        "a load of 4 bytes by each of 32 lanes, 64 bytes apart: 32 pieces of 32 bytes, where 4 "
        "would do"
    ]


def test_a_stride_that_is_divisible_is_named() -> None:
    assert said(at("arith.muli %s, %o")) == [
        "a load of 4 bytes by each of 32 lanes, a multiple of 64 bytes (by stride) apart: 32 "
        "pieces of 32 bytes, where 4 would do"
    ]


@pytest.mark.parametrize(
    "index",
    [
        "arith.addi %o, %s",  # neighbours
        "arith.muli %o, %m",  # by a stride that may be 1
        "arith.remsi %o, %m",  # no sum
        "arith.muli %o, %d",  # by what was loaded
    ],
)
def test_what_is_coalesced_or_unknown_is_not_told(index: str) -> None:
    assert said(at(index)) == []


@pytest.mark.parametrize(("added", "count"), [("%m", 1), ("%o", 0)])
def test_a_pointer_of_a_loop_counts_if_its_steps_stay(added: str, count: int) -> None:
    apart = "arith.muli %o, %c16"
    first = at(apart).removesuffix(LOAD)
    loop = (
        f"    %r = scf.for %k = %n to %n step %n iter_args(%c = %q) -> ({POINTERS})  : i32 {{\n"
        f"      %w = tt.load %c : {POINTERS} loc(#loc2)\n"
        f"      %g = tt.addptr %c, {added} : {POINTERS}, tensor<256xi32, #b> loc(#loc1)\n"
        f"      scf.yield %g : {POINTERS} loc(#loc1)\n    }} loc(#loc1)\n"
    )

    assert len(said(first + loop)) == count


def test_a_buffer_load_of_amd_has_offsets() -> None:
    index = HEAD.replace("threadsPerWarp = [32]", "threadsPerWarp = [64]")
    index = index.replace('per-warp" = 32', 'per-warp" = 64')
    index += "    %i = arith.muli %o, %c16 : tensor<256xi32, #b> loc(#loc1)\n"
    load = "    %v = amdg.buffer_load %x[%i] : !tt.ptr<f32> -> tensor<256xf32, #b> loc(#loc2)\n"

    assert said(index + load, "hip:gfx942") == [
        "a load of 4 bytes by each of 64 lanes, 64 bytes apart: 64 pieces of 64 bytes, where 4 "
        "would do"
    ]


def test_rows_of_a_tile_are_coalesced_and_its_columns_are_not() -> None:
    layout = (
        "#t = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], "
        "warpsPerCTA = [4, 1], order = [1, 0]}>\n"
    )
    tile = """\
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : \
tensor<16xi32, #ttg.slice<{dim = 1, parent = #t}>>
    %c = tt.make_range {end = 32 : i32, start = 0 : i32} : \
tensor<32xi32, #ttg.slice<{dim = 0, parent = #t}>>
    %a = tt.expand_dims %r {axis = 1 : i32} : tensor<16xi32, #ttg.slice<{dim = 1, parent = #t}>> \
-> tensor<16x1xi32, #t>
    %b = tt.expand_dims %c {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #t}>> \
-> tensor<1x32xi32, #t>
    %k = arith.constant dense<512> : tensor<ROWSxi32, #t>
    %w = arith.muli %ONE, %k : tensor<ROWSxi32, #t>
    %u = tt.broadcast %w : tensor<ROWSxi32, #t> -> tensor<16x32xi32, #t>
    %f = tt.broadcast %OTHER : tensor<COLUMNSxi32, #t> -> tensor<16x32xi32, #t>
    %g = arith.addi %u, %f : tensor<16x32xi32, #t>
    %y = tt.splat %x : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>, #t>
    %q = tt.addptr %y, %g : tensor<16x32x!tt.ptr<f32>, #t>, tensor<16x32xi32, #t>
    %z = arith.constant dense<0.0> : tensor<16x32xf32, #t>
    tt.store %q, %z : tensor<16x32x!tt.ptr<f32>, #t>
"""
    tile = f"{layout}{HEAD}{tile}"
    by_rows = tile.replace("ROWS", "16x1").replace("COLUMNS", "1x32")
    by_columns = tile.replace("ROWS", "1x32").replace("COLUMNS", "16x1")

    assert said(by_rows.replace("%ONE", "%a").replace("%OTHER", "%b")) == []
    assert said(by_columns.replace("%ONE", "%b").replace("%OTHER", "%a")) == [
        "a store of 4 bytes by each of 32 lanes, 8192 bytes apart: 8 pieces of 32 bytes, where 4 "
        "would do"
    ]


def test_numbers_stay_small_and_reading_linear() -> None:
    squares = "".join(f"    %n{i + 1} = arith.muli %n{i}, %n{i} : i32\n" for i in range(2000))

    assert said(at("arith.muli %o, %c16") + squares.replace("%n0", "%stride"))


def test_an_access_has_its_line() -> None:
    [found] = uncoalesced(read_ttgir(at("arith.muli %o, %c16") + END, "cuda:90"), "cuda:90")

    assert found.place == ("user.py", 9)


def test_a_buffer_store_of_amd_has_offsets() -> None:
    index = HEAD.replace("threadsPerWarp = [32]", "threadsPerWarp = [64]")
    index = index.replace('per-warp" = 32', 'per-warp" = 64')
    index += "    %i = arith.muli %o, %c16 : tensor<256xi32, #b> loc(#loc1)\n"
    store = "    amdg.buffer_store %e, %x[%i] : !tt.ptr<f32> -> tensor<256xf32, #b> loc(#loc2)\n"

    assert said(index + store, "hip:gfx942") == [
        "a store of 4 bytes by each of 64 lanes, 64 bytes apart: 64 pieces of 64 bytes, where 4 "
        "would do"
    ]


def test_a_copy_to_shared_memory_is_an_access() -> None:
    layout = (
        "#s = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n"
        "#smem = #ttg.shared_memory\n"
    )
    memory = "!ttg.memdesc<256xf32, #s, #smem, mutable>"
    copy = (
        f"    %h = ttg.local_alloc : () -> {memory} loc(#loc1)\n"
        f"    %t = ttg.async_copy_global_to_local %q, %h : {POINTERS} -> <256xf32, #s, #smem, "
        "mutable> loc(#loc2)\n"
    )
    text = layout + at("arith.muli %o, %c16").removesuffix(LOAD) + copy

    assert said(text) == [
        "a copy of 4 bytes by each of 32 lanes, 64 bytes apart: 32 pieces of 32 bytes, where 4 "
        "would do"
    ]
