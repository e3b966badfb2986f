"""Kernel parameters: bytes in the order and widths of the ABI."""

import struct
from dataclasses import replace

import pytest

from compiler.abi import AbiParameter, TensorMapParameter, abi_of
from compiler.target import Target
from worker.gpu.launcher.fault import JobFailed
from worker.gpu.launcher.kernel_parameters import Packer, ScratchAddresses, item_bytes, scalar_bytes

ABI = abi_of(Target("cuda", 90, 32), [], {"name": "k", "num_warps": 4, "shared": 0})
ADDRESSES = [0x7F0000001000, 0x7F0000800000]
BUFFER = {"kind": "buffer", "allocation": 1, "shape": [4, 8], "strides": [8, 1], "offset": 3,
          "dtype": "fp16", "output": False}  # fmt: skip


def slot(kind, name, size):
    return AbiParameter(0, kind, name, size, size)


def packed(arguments, *slots, tensor_map=lambda *_: bytes(128)):
    packer = Packer(ADDRESSES, ScratchAddresses(0x10, 0x20), tensor_map)
    return packer.pack(replace(ABI, parameters=slots), arguments)


def test_a_buffer_is_the_address_of_its_first_element():
    [pointer] = packed({"x": BUFFER}, slot("pointer", "x", 8))

    assert struct.unpack("<Q", pointer) == (0x7F0000800000 + 2 * 3,)


def test_no_value_is_a_null_pointer():
    assert packed({"x": {"kind": "none"}}, slot("pointer", "x", 8)) == [bytes(8)]


def test_scratch_pointers_come_where_the_abi_has_them():
    slots = slot("global_scratch", "global_scratch", 8), slot("profile_scratch", "p", 8)

    assert packed({}, *slots) == [struct.pack("<Q", 0x10), struct.pack("<Q", 0x20)]


def test_items_of_tuples_are_found_by_their_path():
    number = {"kind": "scalar", "value": {"int": "5"}, "dtype": "i8"}
    inner = {"kind": "tuple", "items": [number, BUFFER]}
    arguments = {"pair": {"kind": "tuple", "items": [BUFFER, inner]}}

    assert packed(arguments, slot("scalar", "pair.1.0", 1)) == [b"\x05"]


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, "i1", b"\x01"),
        ({"int": "-1"}, "i8", b"\xff"),
        ({"int": "-2"}, "i16", b"\xfe\xff"),
        ({"int": "9223372036854775808"}, "u64", struct.pack("<Q", 2**63)),
        ({"int": "-9223372036854775808"}, "i64", struct.pack("<q", -(2**63))),
        ({"float": "0x1.8p+0"}, "fp16", struct.pack("<e", 1.5)),
        ({"float": "0x1.8p+0"}, "fp32", struct.pack("<f", 1.5)),
        ({"float": "-inf"}, "fp64", struct.pack("<d", -float("inf"))),
        ({"int": "3"}, "fp32", struct.pack("<f", 3.0)),
    ],
)
def test_scalars_of_every_width(value, dtype, expected):
    assert scalar_bytes(value, dtype, "x") == expected


def test_bf16_drops_the_low_half_as_tritons_launcher_does():
    number = struct.unpack("<f", b"\xff\xff\x80\x3f")[0]  # rounding would carry into the high half

    assert scalar_bytes({"float": number.hex()}, "bf16", "x") == b"\x80\x3f"


def test_a_number_too_large_for_fp16_is_refused():
    with pytest.raises(JobFailed, match="x does not fit in fp16"):
        scalar_bytes({"float": (1e6).hex()}, "fp16", "x")


def test_a_descriptor_is_a_map_its_shape_and_its_strides():
    descriptor = {"kind": "descriptor", "base": BUFFER, "block_shape": [2, 2], "padding": "nan"}
    seen = []

    def tensor_map(argument, address, facts):
        seen.append((argument["padding"], address, facts))
        return b"m" * 128

    mapped = TensorMapParameter(0, "tensormap", "d", 128, 64, {"swizzle": 2})
    made = packed(
        {"d": descriptor},
        mapped,
        slot("scalar", "d.shape.1", 4),
        slot("scalar", "d.stride.0", 8),
        tensor_map=tensor_map,
    )

    assert made == [b"m" * 128, struct.pack("<i", 8), struct.pack("<q", 8)]
    assert seen == [("nan", 0x7F0000800006, {"swizzle": 2})]


def test_without_tensor_maps_a_descriptor_is_a_pointer_with_flags():
    descriptor = {"kind": "descriptor", "base": BUFFER, "block_shape": [2, 2], "padding": "nan"}
    slots = [
        slot("pointer", "d.base", 8),
        slot("scalar", "d.wide_shape.0", 8),
        slot("scalar", "d.nan_padding", 1),
        slot("scalar", "d.round_f32_to_tf32", 1),
    ]

    made = packed({"d": descriptor}, *slots)

    assert made == [struct.pack("<Q", 0x7F0000800006), struct.pack("<q", 4), b"\x01", b"\x00"]


@pytest.mark.parametrize(
    ("arguments", "wanted", "words"),
    [
        ({}, slot("pointer", "x", 8), "no argument for the kernel's parameter x"),
        ({"x": BUFFER}, slot("scalar", "x", 4), "x is a buffer; the kernel takes a scalar"),
        ({"x": BUFFER}, slot("pointer", "x.1", 8), "x.1 is not part of an argument"),
        ({"x": {"kind": "scalar", "value": {"int": "1"}, "dtype": "i64"}},
         slot("scalar", "x", 4), "x has 8 bytes, not 4"),
        ({"x": {"kind": "tuple", "items": []}}, slot("scalar", "x.0", 4), "no argument"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_the_abi_are_refused(arguments, wanted, words):
    with pytest.raises(JobFailed, match=words):
        packed(arguments, wanted)


def test_elements_have_the_sizes_of_storage():
    assert [item_bytes(dtype) for dtype in ("i1", "fp8e4nv", "bf16", "u32", "fp64")] == [
        1, 1, 2, 4, 8,
    ]  # fmt: skip
