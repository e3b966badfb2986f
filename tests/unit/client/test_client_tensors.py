"""Torch tensors as arguments, with a fake tensor that has the methods that the client calls.

This environment has no torch; tests/torch_references uses real tensors.
"""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tritonc


class FakeTensor:
    """A NumPy array with the methods of torch.Tensor that the client calls."""

    def __init__(self, values: Any, dtype: str = "torch.float32", address: int = 4096) -> None:
        self.values = values
        self.dtype = dtype
        self.shape = values.shape
        self.was_moved = False
        self._address = address

    def detach(self) -> "FakeTensor":
        return self

    def cpu(self) -> "FakeTensor":
        self.was_moved = True
        return self

    def contiguous(self) -> "FakeTensor":
        return FakeTensor(np.ascontiguousarray(self.values), self.dtype)

    def view(self, dtype: Any) -> "FakeTensor":
        return FakeTensor(self.values.view(dtype))

    def is_contiguous(self) -> bool:
        return bool(self.values.flags.c_contiguous)

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.values.itemsize for step in self.values.strides)

    def data_ptr(self) -> int:
        return self._address

    def element_size(self) -> int:
        return int(self.values.itemsize)

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        assert self.was_moved or self.dtype == "torch.float32"
        return np.asarray(self.values, dtype)


def test_a_tensor_is_moved_to_the_cpu_and_uploaded():
    tensor = FakeTensor(np.zeros((2, 3), np.float32))

    request = tritonc.launch_request("source", arguments={"x": tensor}, grid=[1])

    argument = request.body["arguments"]["x"]
    assert tensor.was_moved
    assert (argument["shape"], argument["dtype"]) == ([2, 3], "fp32")
    assert "strides" not in argument
    assert "align_bytes" not in argument


def test_bf16_travels_as_its_bits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16=np.int16, int8=np.int8))
    bits = np.array([0x3F80, 0x4000], np.uint16)

    upload = tritonc.array(FakeTensor(bits, "torch.bfloat16"))

    assert (upload.dtype, upload.shape) == ("bf16", (2,))
    assert upload.content.endswith(bits.tobytes())


@pytest.mark.parametrize(("address", "align_bytes"), [(4096, None), (4100, 4), (4104, 8)])
def test_an_address_that_is_no_multiple_of_16_is_reported(address: int, align_bytes: int | None):
    upload = tritonc.array(FakeTensor(np.zeros(4, np.float32), address=address))

    assert upload.align_bytes == align_bytes


def test_strides_of_a_transposed_tensor_and_array_are_reported():
    x = np.zeros((3, 4), np.float32)

    assert tritonc.array(FakeTensor(x.T)).described()["strides"] == [1, 4]
    assert tritonc.array(x.T).described()["strides"] == [1, 4]
    assert tritonc.array(x).strides is None


def test_arrays_named_in_returns_are_outputs():
    request = tritonc.launch_request(
        "source",
        arguments={"x": np.zeros(4), "y": np.zeros(4)},
        grid=[1],
        returns={"y": "values"},
    )

    assert request.body["arguments"]["y"]["output"] is True
    assert "output" not in request.body["arguments"]["x"]
