"""Tensors of torch as arguments of `tritonc`: their bits, strides and addresses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import tritonc

from tests.torch_references.test_torch_references import DTYPES


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_travels_with_its_bits(name: str):
    x = torch.arange(4).to(getattr(torch, DTYPES[name]))

    upload = tritonc.array(x)

    assert upload.dtype == name
    assert upload.content.endswith(bytes(x.view(torch.uint8).numpy().tobytes()))


def test_a_transposed_tensor_that_wants_a_gradient():
    x = torch.arange(12.0).reshape(3, 4).requires_grad_().t()

    upload = tritonc.array(x)

    assert (upload.shape, upload.strides, upload.align_bytes) == ((4, 3), (1, 4), None)


def test_a_slice_says_what_its_address_is_a_multiple_of():
    x = torch.arange(12, dtype=torch.float32)

    assert tritonc.array(x[1:]).align_bytes == 4
    assert np.array_equal(x[1:].numpy(), np.frombuffer(tritonc.array(x[1:]).content[-44:], "<f4"))
