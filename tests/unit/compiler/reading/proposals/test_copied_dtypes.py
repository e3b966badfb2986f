"""An output has the element type of the input whose dtype the host code gives it."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.messages.orders import ReadOrder
from compiler.reading.read_source import read_source

KERNEL = """import torch
import triton
import triton.language as tl

@triton.jit
def k(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    product = tl.dot(tl.load(a_ptr + at[:, None]), tl.load(b_ptr + at[None, :]))
    tl.store(out_ptr + at[:, None], product)

"""
LAUNCH = "k[(1,)](a, b, out, N=16)"


def proposals_of(*lines: str) -> dict[str, dict[str, Any]]:
    host = "def run(a, b, out=None, dtype=None):\n" + "".join(f"    {line}\n" for line in lines)
    [kernel] = read_source(ReadOrder(inspect=True), (KERNEL + host).encode()).facts["kernels"]
    return {p["name"]: p["proposal"] for p in kernel["parameters"]}


COPIES = {
    "dtype of an argument": "out = torch.empty((16, 16), dtype=a.dtype, device=a.device)",
    "zeros": "out = torch.zeros(a.shape[0], 16, device=a.device, dtype=a.dtype)",
    "like": "out = torch.empty_like(a)",
    "new": "out = a.new_empty(16, 16)",
    "like another with its dtype": "out = torch.zeros_like(c, dtype=a.dtype)",
    "a view of one": "out = torch.empty_like(a).view(-1)",
    "several at once": "out, c = torch.empty_like(a), 1",
    "a dtype with a name": "dtype = a.dtype; out = torch.empty(16, 16, dtype=dtype)",
    "where none was given": "if out is None: out = torch.empty_like(a)",
    "after a copy": "a = a.contiguous(); out = torch.empty_like(a)",
    "of a transpose": "out = torch.empty_like(a.T[0])",
}


@pytest.mark.parametrize("how", COPIES)
def test_an_output_follows(how: str) -> None:
    found = proposals_of(COPIES[how], LAUNCH)
    assert (found["a_ptr"]["type"], found["out_ptr"]["type"]) == ("*fp16", "*fp16")
    assert found["out_ptr"]["dtype_of"] == "a_ptr"
    assert "is made with the dtype of a_ptr" in found["out_ptr"]["reason"]


def test_arguments_are_matched_by_name() -> None:
    launch = "k[(1,)](out_ptr=out, b_ptr=b, a_ptr=a, N=16)"
    assert proposals_of("out = torch.empty_like(b)", launch)["out_ptr"]["dtype_of"] == "b_ptr"


OTHERS = {
    "its own dtype": "out = torch.empty_like(a, dtype=torch.float32)",
    "no dtype": "out = torch.empty(16, 16)",
    "what is not passed": "out = torch.empty_like(c)",
    "a conversion": "out = torch.empty_like(a.to(torch.float32))",
    "in another function": "def other(): out = torch.empty_like(a)",
}


@pytest.mark.parametrize("how", OTHERS)
def test_an_output_has_its_own_type_with(how: str) -> None:
    found = proposals_of(OTHERS[how], LAUNCH)
    assert (found["out_ptr"]["type"], found["out_ptr"].get("dtype_of")) == ("*fp32", None)


def test_a_chain_of_names_ends() -> None:
    lines = [f"v{n} = v{n + 1}.view(-1)" for n in range(100)]
    assert proposals_of(*lines, "out = torch.empty_like(v0)", LAUNCH)["out_ptr"]["type"] == "*fp32"
