"""Untrusted `.npy` files: plain numbers are read, everything else is refused."""

import io
import pickle

import numpy as np
import pytest

from launch.buffers import npy
from launch.buffers.element_types import cast
from launch.buffers.npy_header import NotNpy


def file(descr, shape, data=b"", version=b"\x01\x00"):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.arange(6, dtype=np.float64).reshape(2, 3).T,
        np.array(3.5, np.float32),
        np.zeros((0, 4), np.uint8),
        np.array([True, False]),
    ],
    ids=["i16", "transposed", "scalar", "empty", "bool"],
)
def test_what_numpy_saves_is_read(array):
    saved = io.BytesIO()
    np.save(saved, array)
    assert np.array_equal(npy.read(saved.getvalue()), array)
    assert npy.read(saved.getvalue()).shape == array.shape


def test_big_endian_is_turned_round():
    assert npy.read(file(">i4", "(2,)", b"\0\0\0\1\0\0\0\2")).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not begin with the magic bytes"),
        (b"\x93NUMPY", "not begin with the magic bytes"),
        (b"PK\3\4 a zip file, say", "not begin with the magic bytes"),
        (file("|O", "(1,)", pickle.dumps([print])), "use booleans, or integers or floats"),
        (file([("a", "<f4")], "(1,)", b"\0" * 4), "use booleans, or integers or floats"),
        (file("<U4", "(1,)", b"\0" * 16), "use booleans, or integers or floats"),
        (file("<f4", "(2,)", b"\0" * 7), "takes 8 bytes, but the file holds 7"),
        (file("<f4", "(2,)", b"\0" * 9), "takes 8 bytes, but the file holds 9"),
        (file("<f4", "(4611686018427387904, 4)", b"\0"), "its shape must be a tuple"),
        (file("<f4", "(-1, -1)", b"\0" * 4), "its shape must be a tuple"),
        (file("<f4", "(1,) * 9999999999", b"\0" * 4), "not a valid Python literal"),
        (file("<f4", "(1,)", b"\0" * 4, version=b"\x09\x00"), "version is 9.0"),
        (file("<f4", f"({'1, ' * 2000})", b"\0" * 4), "too long"),
    ],
)
def test_a_file_without_plain_numbers_is_refused(data, complaint):
    with pytest.raises(NotNpy, match=complaint):
        npy.read(data)


@pytest.mark.parametrize(("dtype", "bits"), [("bf16", np.uint16), ("fp8e5", np.uint8)])
def test_types_that_numpy_lacks_travel_as_bits(dtype, bits):
    elements = cast(np.array([1.0, -2.5]), dtype)
    read = npy.read(npy.write(elements))
    assert read.dtype == bits
    assert npy.elements(read, dtype).tolist() == elements.tolist()


def test_nothing_is_cast():
    with pytest.raises(NotNpy, match="holds float64, but the argument is fp32"):
        npy.elements(np.zeros(2), "fp32")
