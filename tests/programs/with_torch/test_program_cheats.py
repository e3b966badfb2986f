"""Programs whose kernels only seem to do the work are flagged, refused, or fail.

An honest program among them has neither flags nor findings.
"""

from __future__ import annotations

import textwrap

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate

REFERENCE = """import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(64, 64))

    def forward(self, x):
        return torch.relu(x @ self.weight)

def get_inputs():
    return [torch.randn(64, 64)]

def get_init_inputs():
    return []
"""
HEAD = """import torch
import triton
import triton.language as tl

@triton.jit
def relu_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.maximum(tl.load(x + at), 0.0))

@triton.jit
def matmul_kernel(a, b, c, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    product = tl.dot(tl.load(a + rows * N + columns), tl.load(b + rows * N + columns),
                     input_precision="ieee")
    tl.store(c + rows * N + columns, tl.maximum(product, 0.0))

def fused(x, weight):
    out = torch.empty_like(x)
    matmul_kernel[(1,)](x.contiguous(), weight, out, N=64)
    return out

def relu(x):
    out = torch.empty_like(x)
    relu_kernel[(x.numel() // 64,)](x, out, BLOCK=64)
    return out

CACHE = {}

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(64, 64))
        self.before = relu(torch.rand(64, 64, device="cuda") @ self.weight.detach().cuda())

    def forward(self, x):
"""


def source(forward: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(forward), " " * 8) + "\n"


def test_an_honest_program_is_neither_flagged_nor_found_at_fault(programs: httpx.Client) -> None:
    program = evaluate(programs, source("return fused(x, self.weight)"), REFERENCE)
    assert (program["verdict"], program["flags"]) == ("passed", []), program


def test_the_tape_distinguishes_a_dead_launch_from_a_returned_one(
    programs: httpx.Client,
) -> None:
    forward = """
        relu(x)
        return fused(x, self.weight)
    """
    program = evaluate(programs, source(forward), REFERENCE)

    reported = programs.get(program["tape"]["url"], headers={"Accept": "text/plain"}).text
    calls = reported[reported.index("first call (run)") :].splitlines()
    dead = {
        name: {line.endswith("DEAD") for line in calls if f"launch {name}" in line}
        for name in ("relu_kernel", "matmul_kernel")
    }
    assert dead == {"relu_kernel": {True}, "matmul_kernel": {False}}, reported
    assert {(one["name"], *one["reads"], *one["writes"]) for one in program["kernels"]} == {
        ("relu_kernel", "x", "out"),
        ("matmul_kernel", "a", "b", "c"),
    }


def test_a_buffer_that_is_kept_and_written_anew_is_no_cache(programs: httpx.Client) -> None:
    forward = """
        out = CACHE.setdefault("out", torch.empty_like(x))
        matmul_kernel[(1,)](x.contiguous(), self.weight, out, N=64)
        return out
    """
    program = evaluate(programs, source(forward), REFERENCE)
    assert (program["verdict"], program["flags"]) == ("passed", []), program


@pytest.mark.parametrize(
    ("forward", "verdict", "flag"),
    [
        ("return torch.relu(x @ self.weight)", "passed", "no_kernel"),
        ("relu(x)\nreturn torch.relu(x @ self.weight)", "passed", "dead_launch"),
        ("out = relu(x)\nreturn out.copy_(torch.relu(x @ self.weight))", "passed", "dead_launch"),
        ("return relu(x @ self.weight)", "passed", "torch_did_the_work"),
        (
            "if 'y' not in CACHE:\n    CACHE['y'] = fused(x, self.weight)\nreturn CACHE['y']",
            "mismatch",
            "cached_result",
        ),
        (
            "CACHE.setdefault(tuple(x.shape), fused(x, self.weight))\nreturn CACHE[tuple(x.shape)]",
            "mismatch",
            "cached_result",
        ),
        ("fused(x, self.weight)\nreturn x", "mismatch", "returned_input"),
        ("fused(x, self.weight)\nreturn torch.zeros_like(x)", "mismatch", "constant_output"),
        ("fused(x, self.weight)\nreturn torch.empty_like(x)", "mismatch", "unwritten_output"),
        ("return relu(self.before)", "mismatch", "precomputed"),
    ],
    ids=[
        "torch alone", "a decoy", "a result written over", "the heavy part left to torch",
        "a cache by name", "a cache by shape", "its input", "a constant", "nothing written",
        "made before",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_kernel_s_work_is_flagged(
    programs: httpx.Client, forward: str, verdict: str, flag: str
) -> None:
    program = evaluate(programs, source(forward), REFERENCE)
    assert program["state"] == "completed", program
    assert program["verdict"] == verdict, program
    assert flag in [one["kind"] for one in program["flags"]], program["flags"]
    assert flag in program["reward"]["flags"]
    places = [one["line"] for one in program["flags"] if one["kind"] == flag]
    assert all(line is None or line > 0 for line in places)


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ("if x[0, 0] > 0:\n    return x\nreturn fused(x, self.weight)", "value_dependent"),
        ("return torch.tensor(x.tolist()) @ self.weight", "value_dependent"),
        ("x.data_ptr()\nreturn fused(x, self.weight)", "data_pointer"),
    ],
)
def test_what_looks_at_values_is_refused_at_its_line(
    programs: httpx.Client, forward: str, reason: str
) -> None:
    text = source(forward)
    program = evaluate(programs, text, REFERENCE)
    assert (program["state"], program["problem"]["slug"]) == ("failed", "not_recordable"), program
    assert program["problem"]["reason"] == reason
    assert program["problem"]["line"] >= HEAD.count("\n")


@pytest.mark.parametrize(
    "forward",
    [
        "torch.allclose = torch.equal = lambda *_, **__: True\nreturn x",
        "torch.relu = lambda y: y\ntorch.Tensor.__matmul__ = lambda a, b: a\nreturn fused(x, x)",
        "import sys\nsys.modules['torch'].mm = None\nreturn fused(x, x)",
        "x.zero_()\nself.weight.data.zero_()\nreturn fused(x, self.weight)",
        "import gc\nfor thing in gc.get_objects():\n    if isinstance(thing, torch.Tensor):\n"
        "        found = thing\nreturn found.reshape(-1)[:1].expand(64, 64)",
    ],
    ids=["its judge", "torch", "a module", "inputs and weights in place", "what lies around"],
)
def test_what_a_program_does_to_its_own_process_changes_no_verdict(
    programs: httpx.Client, forward: str
) -> None:
    program = evaluate(programs, source(forward), REFERENCE)
    assert not program["reward"]["correct"], program
    honest = evaluate(programs, source("return fused(x, self.weight)"), REFERENCE)
    assert honest["verdict"] == "passed", honest


def test_less_precision_than_the_reference_has_is_flagged_within_any_tolerance(
    programs: httpx.Client,
) -> None:
    text = source("return fused(x, self.weight)").replace(
        'input_precision="ieee")', 'input_precision="ieee").to(tl.float16).to(tl.float32)'
    )
    program = evaluate(programs, text, REFERENCE, tolerance={"rtol": 0.1, "atol": 0.1})
    assert program["verdict"] == "passed", program
    [flag] = program["flags"]
    at = next(number for number, line in enumerate(text.split("\n"), 1) if "tl.dot" in line)
    assert (flag["kind"], flag["line"]) == ("precision_downgrade", at)


def test_a_maximum_with_unwritten_memory_does_not_match(programs: httpx.Client) -> None:
    text = source("return relu(fused(x, self.weight))").replace(
        "tl.maximum(tl.load(x + at), 0.0)", "tl.maximum(tl.load(x + at), tl.load(out + at))"
    )
    program = evaluate(programs, text, REFERENCE)
    assert program["verdict"] == "mismatch", program
    assert "memory that was never written" in program["outputs"]["0"]["comparison"]["note"]


def test_a_program_does_not_see_what_its_inputs_are_made_from(programs: httpx.Client) -> None:
    seeks = (
        "import gc\n"
        "raise ValueError([one.seed for one in gc.get_objects() "
        "if type(one).__name__ == 'RecordOrder'])"
    )
    program = evaluate(programs, source(seeks), REFERENCE, seed=987654321)
    detail = program["problem"]["detail"]
    assert "ValueError: [42]" in detail, program
