"""Uploads of arrays as .npy files."""

import io

import ml_dtypes
import numpy as np
import pytest
from tritonc import Client, array

from tests.unit.client.fake_tritond import FakeTritond


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (np.float32, "fp32"),
        (np.float16, "fp16"),
        (np.float64, "fp64"),
        (np.int8, "i8"),
        (np.uint64, "u64"),
        (np.bool_, "i1"),
        (ml_dtypes.bfloat16, "bf16"),
        (ml_dtypes.float8_e4m3fn, "fp8e4nv"),
        (ml_dtypes.float8_e5m2, "fp8e5"),
    ],
)
def test_an_array_keeps_its_shape_bits_and_type(kind: type, dtype: str):
    values = np.arange(6).reshape(2, 3).astype(kind)

    upload = array(values)

    assert (upload.shape, upload.dtype) == ((2, 3), dtype)
    assert np.load(io.BytesIO(upload.content)).tobytes() == values.tobytes()


def test_a_view_is_sent_as_it_reads():
    upload = array(np.arange(6).reshape(2, 3).T)

    assert upload.shape == (3, 2)
    assert np.load(io.BytesIO(upload.content)).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_bits_are_called_what_they_are():
    bits = np.array([0x3F80], dtype=np.uint16)

    assert array(bits, "bf16", output=True).described() == {
        "shape": [1],
        "dtype": "bf16",
        "init": {"kind": "tensor", "digest": array(bits).digest},
        "output": True,
    }


def test_the_bytes_of_a_file_need_no_numpy():
    file = io.BytesIO()
    np.save(file, np.zeros((4, 5), dtype=np.float32))

    upload = array(file.getvalue())

    assert (upload.shape, upload.dtype) == ((4, 5), "fp32")
    assert upload.content == file.getvalue()


class Listed:
    """A value that NumPy cannot read, like a bf16 tensor of torch."""

    def __len__(self) -> int:
        return 1

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise TypeError("Got unsupported ScalarType BFloat16")


@pytest.mark.parametrize(
    ("values", "error", "said"),
    [
        (b"PK\x03\x04 no array at all", ValueError, "not a .npy file"),
        (b"\x93NUMPY\x01\x00\x04\x00oops", ValueError, "cannot read the header of this .npy file"),
        ([1, 2], TypeError, "a list is not an array"),
        (np.array(["text"]), ValueError, "kernels cannot take elements"),
        (np.array([object()]), TypeError, "cannot be sent"),
        (Listed(), TypeError, r"BFloat16; move a tensor .*\(x.view\(torch.uint16\)"),
    ],
)
def test_a_value_that_is_not_a_numeric_array_is_refused(values: object, error: type, said: str):
    with pytest.raises(error, match=said):
        array(values)


def test_tensors_can_be_looked_after(client: Client, tritond: FakeTritond):
    upload = array(np.zeros(3))
    tritond.will_send(b"", status=201)
    tritond.will_send(b"")
    tritond.will_send(upload.content)
    tritond.will_send(b"", status=204)
    tritond.will_refuse(404, "not_found")

    digest = client.tensors.put(upload)

    assert client.tensors.has(digest)
    assert client.tensors.get(digest) == upload.content
    client.tensors.delete(digest)
    assert not client.tensors.has(digest)
    assert tritond.requests[0].headers["content-type"] == "application/x-npy"
    assert str(tritond.requests[0].url).endswith(f"/v1/tensors/{digest}")
