"""Rules of Triton's launcher in programs: descriptors, scratch memory, empty grids."""

from __future__ import annotations

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

HEAD = """import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def copy_by_descriptors(x, out):
    out.store([0, 0], x.load([0, 0]))

@triton.jit
def copy_by_own_descriptor(x, out):
    rows, columns = tl.arange(0, 8)[:, None], tl.arange(0, 64)[None, :]
    source = tl.make_tensor_descriptor(x, [8, 64], [64, 1], [8, 64])
    tl.store(out + rows * 64 + columns, source.load([0, 0]))

ALLOCATE = lambda size, align, stream: torch.empty(size, dtype=torch.int8, device="cuda")

@triton.jit
def copy(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, i < n), i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
"""
REFERENCE = """import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x.clone()

def get_inputs():
    return [torch.rand(8, 64, device="cuda")]
"""
LAUNCH = "copy_by_own_descriptor[(1,)](x, out)"


def program(*lines: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in (*lines, "return out"))


def by_descriptors(base: str) -> str:
    made = "TensorDescriptor.from_tensor({}, [8, 64])".format
    return program(
        f"wide = torch.empty(8, 128, device='cuda')\n        base = {base}",
        "base.copy_(x)",
        f"copy_by_descriptors[(1,)]({made('base')}, {made('out')})",
    )


@pytest.mark.parametrize(
    "base", ["torch.empty(513, device='cuda')[1:].view(8, 64)", "wide[:, 1:65]"]
)
def test_a_descriptor_of_memory_that_is_not_aligned_is_refused(
    programs: httpx.Client, base: str
) -> None:
    answer = evaluate(programs, by_descriptors(base), REFERENCE)
    assert answer["problem"]["reason"] == "program_error", answer
    assert "base must be 16-byte aligned" in answer["problem"]["detail"]


@pytest.mark.parametrize(
    "base", ["torch.empty(516, device='cuda')[4:].view(8, 64)", "wide[:, 4:68]"]
)
def test_a_descriptor_of_aligned_memory_is_taken(programs: httpx.Client, base: str) -> None:
    answer = evaluate(programs, by_descriptors(base), REFERENCE)
    assert answer["verdict"] == "passed", answer


def test_scratch_memory_without_an_allocator_ends_the_program(programs: httpx.Client) -> None:
    source = program(LAUNCH)
    answer = evaluate(programs, source, REFERENCE)
    assert answer["verdict"] == "crashed", answer
    [finding] = answer["findings"]
    assert finding["kind"] == "no_allocator"
    assert finding["line"] == source[: source.index(LAUNCH)].count("\n") + 1
    assert "triton.set_allocator(" in finding["message"]


def test_scratch_memory_comes_from_the_allocator_that_was_set(programs: httpx.Client) -> None:
    answer = evaluate(programs, program("triton.set_allocator(ALLOCATE)", LAUNCH), REFERENCE)
    assert answer["verdict"] == "passed", answer


def test_a_reference_without_an_allocator_is_invalid(programs: httpx.Client) -> None:
    theirs = program(LAUNCH).replace("ModelNew", "Model")
    inputs = REFERENCE[REFERENCE.index("\ndef get_inputs") :]
    answer = evaluate(programs, program("out.copy_(x)"), theirs + inputs)
    assert answer["verdict"] == "invalid_reference", answer


def test_a_grid_with_a_negative_size_launches_nothing(programs: httpx.Client) -> None:
    lines = ("out.copy_(x)", "copy_by_own_descriptor[(-1,)](out, x)")
    answer = evaluate(programs, program(*lines), REFERENCE)
    assert answer["verdict"] == "passed", answer


def test_kernels_access_pinned_memory_of_the_host(programs: httpx.Client) -> None:
    lines = (
        "pinned = torch.empty(8, 64, pin_memory=True)",
        "pinned.copy_(x)",
        "assert pinned.is_pinned() and not torch.ones(2).is_pinned()",
        "copy[(4,)](pinned, out, 512, B=128)",
    )
    answer = evaluate(programs, program(*lines), REFERENCE)
    assert answer["verdict"] == "passed", answer


@pytest.mark.parametrize("warm", ["x, out", "torch.float32, torch.float32"])
def test_a_kernel_that_was_warmed_up_is_launched(programs: httpx.Client, warm: str) -> None:
    lines = (
        f"kernel = copy.warmup({warm}, 64, B=128, grid=(1,))",
        "kernel[(4, 1, 1)](x, out, 512, 128)",
    )
    answer = evaluate(programs, program(*lines), REFERENCE)
    assert answer["verdict"] == "passed", answer
