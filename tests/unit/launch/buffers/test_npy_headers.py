"""Headers of `.npy` files: complete files of plain numbers pass, others get an error."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.buffers import npy
from launch.buffers.npy_header import MAX_HEADER_BYTES, NotNpy, read_npy_header

PLAIN = "?bBhHiIlLefd"


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def file(header: str | bytes, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """Return a file with the given header."""
    text = header.encode() if isinstance(header, str) else header
    length = len(text).to_bytes(2 if version[0] == 1 else 4, "little")
    return b"\x93NUMPY" + bytes(version) + length + text + data


def of(descr: str = "'<f4'", order: str = "False", shape: str = "(1,)", more: str = "") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}{more}}}"


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 3, 4)])
def test_arrays_of_numbers_are_taken(kind: str, shape: tuple[int, ...]) -> None:
    read_npy_header(saved(np.zeros(shape, kind)))


@pytest.mark.parametrize("array", [np.zeros(3, ">f8"), np.zeros((2, 3), order="F")])
def test_bytes_may_be_swapped_and_axes_too(array: Any) -> None:
    read_npy_header(saved(array))


def test_version_2_is_taken() -> None:
    read_npy_header(file(of(), b"1234", version=(2, 0)))


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([{}], dtype=object), "'|O'"),
        (np.zeros(1, np.complex128), "'<c16'"),
        (np.zeros(1, np.longdouble), "'<f16'"),
        (np.array(["a"]), "'<U1'"),
        (np.array([b"a"]), "'|S1'"),
        (np.zeros(1, "M8[s]"), "'<M8[s]'"),
        (np.zeros(1, [("a", "i4")]), "[('a', '<i4')]"),
    ],
)
def test_other_elements_are_refused(array: Any, said: str) -> None:
    with pytest.raises(NotNpy) as refused:
        read_npy_header(saved(array))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "does not begin"),
        (b"\x93NUMPY\x01\x00", "does not begin"),
        (b"\x93NUMPX" + saved(np.zeros(1))[6:], "does not begin"),
        (file(of(), b"1234", version=(3, 0)), "version is 3.0"),
        (file(of(), b"1234", version=(1, 1)), "version is 1.1"),
        (file(of())[:40], "cut off"),
        (file(of() + " " * MAX_HEADER_BYTES, b"1234"), "too long"),
        (file(of(), b"123"), "takes 4 bytes, but the file holds 3"),
        (file(of(), b"12345"), "takes 4 bytes, but the file holds 5"),
        (file(of(shape="(281474976710655, 281474976710655)")), "bytes, but the file holds 0"),
        (file(of(descr="'<f3'"), b"123"), "'<f3'"),
        (file(of(descr="7"), b"1234"), "'7'"),
        (file(of(order="'no'"), b"1234"), "`fortran_order`"),
        (file(of(more=", 'x': 1"), b"1234"), "must be a dictionary"),
        (file("{'descr': '<f4'}", b"1234"), "must be a dictionary"),
        (file("[]", b"1234"), "must be a dictionary"),
        (file(of(shape="(True,)"), b"1234"), "shape must be a tuple"),
        (file(of(shape="(-1,)"), b"1234"), "shape must be a tuple"),
        (file(of(shape="[1]"), b"1234"), "shape must be a tuple"),
        (file(of(shape="(281474976710656, 0)")), "shape must be a tuple"),
        (file(of(shape=f"({'1, ' * 33})"), b"1234"), "shape must be a tuple"),
        (file("__import__('os').getpid()"), "not a valid Python literal"),
        (file(b"\xff" * 40), "not a valid Python literal"),
        (file(b"\0" * 40), "not a valid Python literal"),
        # whitespace to `str`, but not to Python's tokenizer
        (file(of() + "\x1c", b"1234"), "not a valid Python literal"),
        (file("[" * 4000), "not a valid Python literal"),
        (file("-" * 4000 + "1"), "not a valid Python literal"),
    ],
)
def test_an_incomplete_file_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(NotNpy) as refused:
        read_npy_header(data)
    assert said in str(refused.value)


@given(at=st.integers(0, 150), byte=st.integers(0, 255), cut=st.integers(0, 20))
def test_a_damaged_file_is_refused_or_readable(at: int, byte: int, cut: int) -> None:
    data = bytearray(saved(np.arange(6, dtype=np.int32).reshape(2, 3)))
    data[at] = byte
    damaged = bytes(data[: len(data) - cut])
    try:
        read_npy_header(damaged)
    except NotNpy:
        return
    assert npy.read(damaged).nbytes < len(damaged)
