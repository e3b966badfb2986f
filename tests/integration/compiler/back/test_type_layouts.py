"""Where the elements of a TTGIR module's tensors are, as Triton's own drawings show them."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import xor
from typing import Any

import pytest
from triton._C.libtriton import gluon_ir
from triton.experimental.gluon.language import _layouts as gluon
from triton.experimental.gluon.language.amd import AMDMFMALayout
from triton.experimental.gluon.language.nvidia.blackwell import TensorMemoryLayout
from triton.language import float16, float32

from compiler.explain.uncoalesced import lane_places
from tests.integration.compiler.children import Children

WARP_SIZE = {"cuda": 32, "hip": 64}
_CELL = re.compile(r"[^\[\],\s][^,\]\n]*")
_HOLDER = re.compile(r"T(\d+):\s*(\d+)")

Place = tuple[int, ...]
Holders = dict[Place, set[tuple[int, int]]]
"""The threads and registers that hold each element."""


def drawn_by_triton(layout: Any, shape: Sequence[int]) -> Holders:
    """Return Triton's own view of a distributed layout of up to two dimensions."""
    text = gluon_ir.get_layout_view(layout, list(shape), False)
    cells = [_HOLDER.findall(cell) for cell in _CELL.findall(text) if "T" in cell]
    places = list(itertools.product(*map(range, shape)))
    assert len(cells) == len(places)
    return {
        place: {(int(thread), int(register)) for thread, register in cell}
        for place, cell in zip(places, cells, strict=True)
    }


def held_by(bases: dict[str, list[list[int]]], rank: int, warp_size: int) -> Holders:
    """Return our answer about the same."""
    found: Holders = defaultdict(set)
    counts = {name: range(1 << len(bases[name])) for name in ("register", "lane", "warp")}
    for register, lane, warp in itertools.product(*counts.values()):
        place = [0] * rank
        for name, number in (("register", register), ("lane", lane), ("warp", warp)):
            place = added(place, offset_of(bases[name], number, rank))
        found[tuple(place)].add((warp * warp_size + lane, register))
    return dict(found)


def offset_of(bases: list[list[int]], number: int, rank: int) -> list[int]:
    """Return the XOR of the bases that the number has bits for."""
    chosen = [base for bit, base in enumerate(bases) if number >> bit & 1]
    return reduce(added, chosen, [0] * rank)


def added(some: Iterable[int], others: Iterable[int]) -> list[int]:
    """Return the sum of two offsets, as linear layouts add."""
    return list(map(xor, some, others))


HOPPER = {"backend": "cuda", "arch": 90, "warp_size": 32}
MI300 = {"backend": "hip", "arch": "gfx942", "warp_size": 64}
MMA_V2 = (
    "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, "
    "warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
)
MFMA = (
    "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], "
    "instrShape = [16, 16, 16], isTransposed = true}>"
)
ONE = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
BLOCKED = gluon.BlockedLayout([1, 2], [4, 8], [2, 2], [1, 0])
MMA = gluon.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
LINEAR = (
    "#ttg.linear<{register = [[0, 1], [2, 0]], lane = [[0, 2], [0, 4], [1, 0], [0, 0], [0, 0]], "
    "warp = [[0, 0], [0, 0]], block = []}>"
)
OF_LINEAR = gluon.DistributedLinearLayout(
    [[0, 1], [2, 0]], [[0, 2], [0, 4], [1, 0], [0, 0], [0, 0]], [[0, 0], [0, 0]], [], [4, 8]
)
HELD = {
    "tensor<16x32xf32, #b>": BLOCKED,
    "tensor<16x!tt.ptr<f32>, #ttg.slice<{dim = 1, parent = #b}>>": gluon.SliceLayout(1, BLOCKED),
    "tensor<32x32xf32, #m>": MMA,
    "tensor<32x16xf16, #ttg.dot_op<{opIdx = 0, parent = #m, kWidth = 2}>>": (
        gluon.DotOperandLayout(0, MMA, 2)
    ),
    f"tensor<4x8xf32, {LINEAR}>": OF_LINEAR,
    f"tensor<4x1xf32, {LINEAR}>": OF_LINEAR,
    f"tensor<8x16xf32, {LINEAR}>": OF_LINEAR,
}


def module(types: str, mma: str = MMA_V2, threads: tuple[int, int] = (4, 8)) -> str:
    """Return TTGIR whose kernel has parameters of these types."""
    blocked = f"sizePerThread = [1, 2], threadsPerWarp = {list(threads)}, warpsPerCTA = [2, 2]"
    attributes = f'"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = {math.prod(threads)} : i32'
    return f"""
#b = #ttg.blocked<{{{blocked}, order = [1, 0]}}>
#m = {mma}
#s = #ttg.swizzled_shared<{{vec = 2, perPhase = 1, maxPhase = 4, order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{{attributes}}} {{
  tt.func public @k(%x: {types}) {{
    tt.return
  }}
}}
"""


def told(children: Children, text: str, target: dict[str, Any] = HOPPER) -> list[dict[str, Any]]:
    end = children.run({"task": "layouts", "target": target}, text.encode())
    assert end.result
    found: list[dict[str, Any]] = json.loads(end.stages["layouts"])["layouts"]
    return found


def shape_in(name: str) -> list[int]:
    return [int(extent) for extent in re.findall(r"(\d+)x", name.partition(",")[0])]


@pytest.mark.parametrize("name", HELD)
def test_registers_and_threads_are_those_of_tritons_drawing(children: Children, name: str) -> None:
    (found,) = told(children, module(name))

    assert found["problem"] is None
    assert (found["type"], found["shape"], found["kind"]) == (name, shape_in(name), "distributed")
    held = held_by(found["bases"], len(found["shape"]), 32)
    assert held == drawn_by_triton(HELD[name], found["shape"])


@pytest.mark.parametrize("name", [name for name in HELD if "#m" not in name])
def test_lanes_are_read_from_the_text_of_a_layout_as_triton_does(
    children: Children, name: str
) -> None:
    text = module(name)
    (found,) = told(children, text)
    aliases = dict(re.findall(r"(?m)^(#\w+) = (#.+)$", text))
    shape, lane_bases = found["shape"], found["bases"]["lane"]
    layout = name.partition(", ")[2].removesuffix(">")

    places = lane_places(layout, tuple(shape), aliases)

    assert places is not None
    lanes = range(1 << len(lane_bases))
    assert [*map(list, places.offsets)] == [offset_of(lane_bases, n, len(shape)) for n in lanes]


def test_an_mfma_layout_of_amd_has_64_lanes(children: Children) -> None:
    text = module("tensor<32x32xf32, #m>", MFMA, (8, 8))
    (found,) = told(children, text, MI300)

    layout = AMDMFMALayout(3, [16, 16, 16], True, [2, 2])
    assert held_by(found["bases"], 2, 64) == drawn_by_triton(layout, [32, 32])


def test_offsets_in_shared_memory_are_those_of_tritons_drawing(children: Children) -> None:
    name = "!ttg.memdesc<3x8x16xf16, #s, #smem, mutable>"
    (found,) = told(children, module(name))

    layout = gluon.SwizzledSharedLayout(2, 1, 4, [1, 0])
    drawn = places(gluon_ir.get_layout_view(layout, [8, 16], True))
    assert (found["shape"], found["kind"], len(drawn)) == ([8, 16], "shared", 128)
    assert all(offset_of(found["bases"]["offset"], k, 2) == place for k, place in drawn.items())


def places(drawn: str) -> dict[int, list[int]]:
    """Return the element at each offset of Triton's drawing of shared memory."""
    return {
        int(offset): [int(row), int(column)]
        for offset, row, column in re.findall(r"Offset: (\d+) -> \(\s*(\d+),\s*(\d+)\)", drawn)
    }


@pytest.mark.parametrize("swizzled_bytes", [0, 32, 64, 128])
@pytest.mark.parametrize("is_transposed", [False, True])
def test_memory_that_tma_and_wgmma_use_is_that_of_tritons_drawing(
    children: Children, swizzled_bytes: int, *, is_transposed: bool
) -> None:
    how = f"{{swizzlingByteWidth = {swizzled_bytes}, transposed = {str(is_transposed).lower()}, "
    name = (
        f"!ttg.memdesc<2x64x64xf16, #ttg.nvmma_shared<{how}elementBitWidth = 16}}>, #smem, mutable>"
    )
    (found,) = told(children, module(name))

    layout = gluon.NVMMASharedLayout(swizzled_bytes, 16, 2, is_transposed)
    drawn = places(gluon_ir.get_layout_view(layout, [64, 64], True))
    assert (found["shape"], found["kind"], len(drawn)) == ([64, 64], "shared", 4096)
    assert all(offset_of(found["bases"]["offset"], k, 2) == place for k, place in drawn.items())


def test_sixteen_bytes_of_a_row_are_exchanged_by_the_rows_number(children: Children) -> None:
    how = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    (found,) = told(children, module(f"!ttg.memdesc<16x128xf16, {how}, #smem>"))

    for row, column in itertools.product(range(16), range(128)):
        tile, (chunk, rest) = column // 64, divmod(column % 64, 8)
        offset = tile * 16 * 64 + row * 64 + 8 * (chunk ^ row % 8) + rest
        assert offset_of(found["bases"]["offset"], offset, 2) == [row, column]


BLOCKS = [
    ((128, 64), [128, 64], "f32"),
    ((128, 64), [256, 64], "f32"),
    ((128, 32), [128, 32], "f16"),
]


@pytest.mark.parametrize(("block", "shape", "kind"), BLOCKS)
def test_tensor_memory_is_where_its_loads_find_it(
    children: Children, block: tuple[int, int], shape: list[int], kind: str
) -> None:
    how = f"#ttng.tensor_memory_encoding<blockM = {block[0]}, blockN = {block[1]}, colStride = 1>"
    written = f"{shape[0]}x{shape[1]}x{kind}"
    (found,) = told(
        children,
        module(f"!ttg.memdesc<{written}, {how}, #ttng.tensor_memory, mutable>"),
        HOPPER | {"arch": 100},
    )

    # tcgen05.ld of the shape 32x32b gives lane l of warp w row 32 * w + l, a column per register
    dtype = {"f32": float32, "f16": float16}[kind]
    layout = TensorMemoryLayout(block, 1)
    loaded = gluon_ir.compute_tmem_reg_layout(dtype, shape, shape, layout, 4, "32x32b")
    assert (found["shape"], found["kind"]) == (shape, "tensor_memory")
    assert found["bases"]["row"] == [*loaded.lane_bases, *loaded.warp_bases]
    assert found["bases"]["column"] == loaded.reg_bases


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("!ttg.memdesc<8x8xf16, #s, #smem, mutable, 8x16>", "a part of 8x16 elements"),
        (
            "!ttg.memdesc<8x16xf16, #ttg.amd_rotating_shared<{vec = 2, perPhase = 1, "
            "maxPhase = 4, order = [1, 0]}>, #smem>",
            "do not describe ttg.amd_rotating_shared",
        ),
        (
            "!ttg.memdesc<8x16xf16, #ttg.padded_shared<[8:+1] {order = [1, 0], shape = [8, 16]}>, "
            "#smem>",
            "do not describe ttg.padded_shared",
        ),
    ],
)
def test_memory_without_a_linear_form_is_refused_by_name(
    children: Children, name: str, said: str
) -> None:
    (found,) = told(children, module(name))

    assert found["bases"] is None
    assert said in found["problem"]
    assert "See the type" in found["problem"]


def test_a_buffer_of_several_is_drawn(children: Children) -> None:
    (found,) = told(children, module("!ttg.memdesc<8x16xf16, #s, #smem, mutable, 3x8x16>"))

    assert (found["shape"], found["problem"]) == ([8, 16], None)


def test_tensor_memory_of_scales_has_every_element(children: Children) -> None:
    how = "#ttng.tensor_memory_scales_encoding<>, #ttng.tensor_memory"
    name = f"!ttg.memdesc<128x4xi8, {how}, mutable>"
    (found,) = told(children, module(name), HOPPER | {"arch": 100})

    assert (found["shape"], found["kind"]) == ([128, 4], "tensor_memory")
    assert len({tuple(b) for b in found["bases"]["row"] + found["bases"]["column"]} - {(0, 0)}) == 9


def test_a_barrier_and_a_descriptor_are_no_puzzle(children: Children) -> None:
    types = f"!ttg.memdesc<2x1xi64, {ONE}, #smem>, %d: !tt.tensordesc<16x32xf32, #s>"
    (found,) = told(children, module(types))

    assert (found["shape"], found["bases"]) == ([1], {"offset": [], "block": []})


def test_text_that_is_no_ttgir_is_refused_in_words(children: Children) -> None:
    text = module("tensor<16x32xf32, #missing>")
    end = children.run({"task": "layouts", "target": HOPPER}, text.encode())

    assert end.last is not None
    assert end.last["kind"] == "failure"
    assert "cannot be parsed again" in end.last["message"]
