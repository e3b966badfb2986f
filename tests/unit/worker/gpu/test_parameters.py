"""The parameter block that the driver reads."""

import ctypes

from worker.gpu.launcher.kernel_parameters import ParameterBlock


def test_every_parameter_is_found_and_aligned():
    packed = [b"\x01", b"t" * 128, b"\x02\x00\x00\x00"]

    block = ParameterBlock(packed)

    pointers = (ctypes.c_void_p * 3).from_address(block.address)
    assert [ctypes.string_at(pointer, len(value)) for pointer, value in zip(
        pointers, packed, strict=True)] == packed  # fmt: skip
    assert all(pointer % 128 == 0 for pointer in pointers)


def test_a_kernel_without_parameters_has_an_address_too():
    assert ParameterBlock([]).address != 0
