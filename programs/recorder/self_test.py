"""Tests that a record child works on this machine: a program, and the ops of its tape.

Uses no torch, as a worker that checks the tape has none.
"""

import json
from collections import Counter

from programs.recorder.record_order import RecordOrder
from programs.tape.schema import AtenOp, Tape, TapeLaunch

_SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask), mask)


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return Double.apply(gradient)


def custom_kernel(x, weight):
    weight = weight.clone().requires_grad_()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = Double.apply(x.requires_grad_() @ weight)
    out.float().sum().backward()
    return out, weight.grad
"""
ORDER = RecordOrder(
    entries=[{"kind": "function", "name": "custom_kernel"}],
    inputs=[
        {"tensor": {"dtype": "fp32", "shape": [4, 16], "device": "cuda"}},
        {"tensor": {"dtype": "fp32", "shape": [16, 8], "device": "cuda"}},
    ],
)
BODY = json.dumps({"source": _SOURCE, "files": {}}).encode()
_LAUNCHES = 4
"""Forward and backward, in two calls."""
_OPS = {"aten.mm.default": 6, "aten.sum.default": 2}


def fault_of(tape: Tape) -> str | None:
    """Return the error in the tape of this program; None if the child records correctly."""
    launches = [op for op in tape.ops if isinstance(op, TapeLaunch)]
    if len(launches) != _LAUNCHES:
        return f"it has {len(launches)} launches instead of {_LAUNCHES}"
    counts = Counter(op.op for op in tape.ops if isinstance(op, AtenOp))
    for name, number in _OPS.items():
        if counts[name] != number:
            return f"it has {name} {counts[name]} times instead of {number}"
    if tape.tensors[launches[0].args["x"].id].dtype != "bf16":  # type: ignore[union-attr]
        return "it has no casts by autocast"
    return None
