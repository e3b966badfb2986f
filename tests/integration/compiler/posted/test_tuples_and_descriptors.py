"""Structured specializations: constants and hints inside tuples, descriptors with layouts."""

from __future__ import annotations

from tests.integration.service.conftest import Post

TUPLE = """import triton
import triton.language as tl


@triton.jit
def kernel(pair, x_ptr):
    tl.store(x_ptr + tl.arange(0, pair[1]), pair[0] + pair[2])
"""
GLUON = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma


@gluon.jit
def kernel(desc, y_ptr, LAYOUT: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])):
    tile = gl.allocate_shared_memory(desc.dtype, desc.block_type.shape, desc.layout)
    bar = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, desc.block_type.nbytes)
    tma.async_load(desc, [0, 0], bar, tile)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    rows = gl.arange(0, 64, gl.SliceLayout(1, LAYOUT))[:, None] * 64
    columns = gl.arange(0, 64, gl.SliceLayout(0, LAYOUT))[None, :]
    gl.store(y_ptr + rows + columns, tile.load(LAYOUT))
"""
LAYOUT = "NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)"


def test_items_of_a_tuple_are_hinted_and_constant(post: Post) -> None:
    made = post(
        {
            "source": TUPLE,
            "signature": {"pair": ["i32", "constexpr", "i32:1"], "x_ptr": "*i32"},
            "constexprs": {"pair.1": 64},
            "hints": {"pair.0": ["divisible_by_16"]},
            "target": "cuda:90",
            "include": ["ttir"],
        }
    ).json()

    assert made["state"] == "succeeded", made["problem"]
    assert "%pair.0: i32 {tt.divisibility = 16 : i32}" in made["included"]["ttir"]
    assert "tensor<64xi32>" in made["included"]["ttir"]
    slots = [(slot["name"], slot["size_bytes"]) for slot in made["abi"]["parameters"]]
    assert slots[:2] == [("pair.0", 4), ("x_ptr", 8)]


def test_a_gluon_kernel_takes_a_descriptor_with_its_layout(post: Post) -> None:
    made = post(
        {
            "source": GLUON,
            "signature": {"desc": f"tensordesc<fp16[64,64],{LAYOUT}>", "y_ptr": "*fp16"},
            "target": "cuda:90",
        }
    ).json()

    assert made["state"] == "succeeded", made["problem"]
    assert made["abi"]["parameters"][0]["kind"] == "tensormap"
    assert "cubin" in made["artifacts"]


def test_a_stage_that_triton_does_not_make_of_a_kernel_is_refused(post: Post) -> None:
    made = post(
        {
            "source": GLUON,
            "signature": {"desc": f"tensordesc<fp16[64,64],{LAYOUT}>", "y_ptr": "*fp16"},
            "target": "cuda:90",
            "stop_after": "ttir",
        }
    ).json()

    assert (made["state"], made["problem"]["slug"]) == ("failed", "compile_error")
    assert made["problem"]["detail"].startswith("Triton makes no ttir for ")
    assert list(made["artifacts"]) == ["source"]
